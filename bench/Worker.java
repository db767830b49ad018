import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.function.LongSupplier;
import org.libdlock.Client;
import org.libdlock.DistributedLock;
import org.libdlock.Dlock;
import org.libdlock.Rate;
import org.libdlock.RateLimiter;
import org.libdlock.Snowflake;

/**
 * The Java worker of bench/run.py: does something as often as CALLERS threads can in SECONDS.
 *
 * <pre>Worker pairs|decisions|ids|batches URL CALLERS SECONDS</pre>
 */
public final class Worker {
    // The compiler's, and so that connections and keys are warm before the clock starts.
    private static final double WARM_UP_SECONDS = 1.0;

    private static final int BATCH = 1000; // ids

    private Worker() {}

    /** What a caller does, again and again; says how often it did it. */
    private static LongSupplier work(String what, Client client, int caller) {
        return switch (what) {
            case "pairs" -> {
                DistributedLock lock = client.lock("bench-" + caller);
                yield () -> {
                    lock.lock();
                    lock.unlock();
                    return 1;
                };
            }
            case "decisions" -> {
                // So wide that nobody is refused.
                RateLimiter limiter = client.rateLimiter("bench", Rate.of(1_000_000, Duration.ofSeconds(1)));
                yield () -> limiter.tryAcquire().granted();
            }
            case "ids" -> {
                Snowflake ids = new Snowflake(1, 1);
                yield () -> {
                    for (int each = 0; each < BATCH; each++) {
                        ids.nextId(); // asking for the time costs as much as an id
                    }
                    return BATCH;
                };
            }
            case "batches" -> {
                Snowflake ids = new Snowflake(1, 1);
                yield () -> ids.nextIds(BATCH).length;
            }
            default -> throw new IllegalArgumentException(what);
        };
    }

    private static long until(double seconds, LongSupplier work) {
        long begun = System.nanoTime();
        long done = 0;
        while ((System.nanoTime() - begun) * 1e-9 < seconds) {
            done += work.getAsLong();
        }
        return done;
    }

    private static long all(ExecutorService threads, List<LongSupplier> callers, double seconds) throws Exception {
        List<Callable<Long>> loops = new ArrayList<>();
        for (LongSupplier work : callers) {
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
            List<LongSupplier> callers = new ArrayList<>();
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
