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
 * Lock and unlock as fast as CALLERS threads can, each with a lock of its own: the Java worker of bench/run.py.
 *
 * <pre>Pairs URL CALLERS SECONDS</pre>
 */
public final class Pairs {
    // The compiler's, and so that connections and keys are warm before the clock starts.
    private static final double WARM_UP_SECONDS = 1.0;

    private Pairs() {}

    private static long caller(DistributedLock lock, double seconds) {
        long begun = System.nanoTime();
        long pairs = 0;
        while ((System.nanoTime() - begun) * 1e-9 < seconds) {
            lock.lock();
            lock.unlock();
            pairs++;
        }
        return pairs;
    }

    private static long all(ExecutorService threads, List<DistributedLock> locks, double seconds) throws Exception {
        List<Callable<Long>> callers = new ArrayList<>();
        for (DistributedLock lock : locks) {
            callers.add(() -> caller(lock, seconds));
        }
        long pairs = 0;
        for (Future<Long> caller : threads.invokeAll(callers)) {
            pairs += caller.get();
        }
        return pairs;
    }

    public static void main(String[] arguments) throws Exception {
        int count = Integer.parseInt(arguments[1]);
        double seconds = Double.parseDouble(arguments[2]);
        ExecutorService threads = Executors.newFixedThreadPool(count);
        try (Client client = Dlock.connect(arguments[0])) {
            List<DistributedLock> locks = new ArrayList<>();
            for (int i = 0; i < count; i++) {
                locks.add(client.lock("bench-" + i));
            }
            all(threads, locks, WARM_UP_SECONDS);
            System.out.println("ready");
            var input = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
            input.readLine();
            long begun = System.nanoTime();
            long pairs = all(threads, locks, seconds);
            double taken = (System.nanoTime() - begun) * 1e-9;
            System.out.printf(Locale.ROOT, "{\"pairs\": %d, \"seconds\": %.6f}%n", pairs, taken);
            input.readLine(); // the driver reads our CPU time before it lets go
        } finally {
            threads.shutdown();
        }
    }
}
