import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.libdlock.Client;
import org.libdlock.DistributedLock;
import org.libdlock.Dlock;

/**
 * The Java worker of bench/run.py: does something as often as CALLERS threads can in SECONDS.
 *
 * <pre>Worker pairs URL CALLERS SECONDS</pre>
 */
public final class Worker {
    // The compiler's, and so that connections and keys are warm before the clock starts.
    private static final double WARM_UP_SECONDS = 1.0;

    private Worker() {}

    /** What a caller does, again and again. */
    private static Runnable work(String what, Client client, int caller) {
        return switch (what) {
            case "pairs" -> {
                DistributedLock lock = client.lock("bench-" + caller);
                yield () -> {
                    lock.lock();
                    lock.unlock();
                };
            }
            default -> throw new IllegalArgumentException(what);
        };
    }

    private static long until(double seconds, Runnable work) {
        long begun = System.nanoTime();
        long done = 0;
        while ((System.nanoTime() - begun) * 1e-9 < seconds) {
            work.run();
            done++;
        }
        return done;
    }

    private static long all(ExecutorService threads, List<Runnable> callers, double seconds) throws Exception {
        List<Callable<Long>> loops = new ArrayList<>();
        for (Runnable work : callers) {
            loops.add(() -> until(seconds, work));
        }
        long done = 0;
        for (Future<Long> caller : threads.invokeAll(loops)) {
            done += caller.get();
        }
        return done;
    }

    public static void main(String[] arguments) throws Exception {
        int count = Integer.parseInt(arguments[2]);
        double seconds = Double.parseDouble(arguments[3]);
        ExecutorService threads = Executors.newFixedThreadPool(count);
        try (Client client = Dlock.connect(arguments[1])) {
            List<Runnable> callers = new ArrayList<>();
            for (int i = 0; i < count; i++) {
                callers.add(work(arguments[0], client, i));
            }
            all(threads, callers, WARM_UP_SECONDS);
            System.out.println("ready");
            var input = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
            input.readLine();
            long begun = System.nanoTime();
            long done = all(threads, callers, seconds);
            double taken = (System.nanoTime() - begun) * 1e-9;
            System.out.printf(Locale.ROOT, "{\"done\": %d, \"seconds\": %.6f}%n", done, taken);
            input.readLine(); // the driver reads our CPU time before it lets go
        } finally {
            threads.shutdown();
        }
    }
}
