import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Locale;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Lock;
import java.util.function.Function;
import org.redisson.Redisson;
import org.redisson.api.RBlockingQueue;
import org.redisson.api.RBloomFilter;
import org.redisson.api.RDelayedQueue;
import org.redisson.api.RIdGenerator;
import org.redisson.api.RPermitExpirableSemaphore;
import org.redisson.api.RRateLimiter;
import org.redisson.api.RateType;
import org.redisson.api.RedissonClient;
import org.redisson.client.codec.StringCodec;
import org.redisson.config.Config;
import org.redisson.config.SingleServerConfig;

/**
 * The peer of the Java worker: Redisson's locks, its semaphore with leased permits for `permits`, its read-write lock for
 * `reads_and_writes`, its rate limiter for `decisions`, and its id generator for `id_blocks`.
 *
 * <pre>RedissonWorker RLock|RFencedLock|RRateLimiter WHAT URL CALLERS SECONDS</pre>
 *
 * <p>{@code jobs}: a job is offered to its delayed queue with a delay of 0 and taken from the blocking queue behind that. Nothing is
 * acknowledged: what is taken is gone.
 *
 * <p>{@code -Dsmall=true}: fewer threads and connections than by default, where many of these processes run at a time.
 */
public final class RedissonWorker {
    private static final int BATCH = 1000; // of what is quick between two looks at the clock

    private static final int AT_ONCE = 64; // acquires of `held` that are under way at a time

    private RedissonWorker() {}

    private static RedissonClient connect(String url, int blocked) {
        Config config = new Config();
        SingleServerConfig server = config.useSingleServer().setAddress(url);
        server.setConnectionPoolSize(server.getConnectionPoolSize() + blocked);
        if (Boolean.getBoolean("small")) {
            config.setThreads(2).setNettyThreads(2);
            server.setConnectionMinimumIdleSize(1).setSubscriptionConnectionMinimumIdleSize(1);
        }
        return Redisson.create(config);
    }

    /** Takes so many locks, and holds them until the driver is done. */
    private static void held(RedissonClient client, int count) throws Exception {
        client.getLock("warm").lock();
        client.getLock("warm").unlock();
        Callers.ready();
        long begun = System.nanoTime();
        Deque<CompletionStage<Void>> underWay = new ArrayDeque<>();
        for (int i = 0; i < count; i++) {
            if (underWay.size() == AT_ONCE) {
                underWay.remove().toCompletableFuture().get();
            }
            underWay.add(client.getLock("bench-" + i).lockAsync());
        }
        for (CompletionStage<Void> each : underWay) {
            each.toCompletableFuture().get();
        }
        double taken = (System.nanoTime() - begun) * 1e-9;
        Callers.answer(String.format(Locale.ROOT, "{\"done\": %d, \"seconds\": %.6f}", count, taken));
        Runtime.getRuntime().halt(0);
    }

    /** Its delayed queue is deprecated, and still what its free edition has for this. */
    @SuppressWarnings("deprecation")
    private static void jobs(RedissonClient client, Callers callers) throws Exception {
        RBlockingQueue<String> ready = client.getBlockingQueue("bench", StringCodec.INSTANCE);
        RDelayedQueue<String> delayed = client.getDelayedQueue(ready);
        callers.loops(caller -> () -> {
            delayed.offer(Callers.PAYLOAD, 0, TimeUnit.MILLISECONDS);
            try {
                // Bounded: what a timer moves may be late.
                if (ready.poll(30, TimeUnit.SECONDS) == null) {
                    throw new IllegalStateException("nothing came");
                }
            } catch (InterruptedException interrupted) {
                throw new IllegalStateException(interrupted);
            }
            return 1;
        });
        delayed.destroy();
    }

    public static void main(String[] arguments) throws Exception {
        String what = arguments[1];
        int count = Integer.parseInt(arguments[3]);
        // A caller that waits for a job has a connection to itself; if they had all there are, nothing would move jobs to them.
        RedissonClient client = connect(arguments[2], what.equals("jobs") ? count : 0);
        if (what.equals("held")) {
            held(client, count);
        } else if (what.equals("permits")) {
            RPermitExpirableSemaphore semaphore = client.getPermitExpirableSemaphore("bench");
            semaphore.trySetPermits(Callers.PERMITS);
            // A lease as ours have, which Redisson does not renew.
            new Callers(count, Double.parseDouble(arguments[4])).permits(() -> {
                semaphore.release(semaphore.acquire(30, TimeUnit.SECONDS));
                return null;
            });
        } else if (what.startsWith("bloom")) {
            RBloomFilter<String> filter = client.getBloomFilter("bench", StringCodec.INSTANCE);
            filter.tryInit(10_000_000, 0.01);
            boolean adds = what.equals("bloom_add");
            filter.add(Callers.items(0));
            new Callers(count, Double.parseDouble(arguments[4])).loops(caller -> {
                int[] next = {0};
                return () -> {
                    if (adds) {
                        filter.add(Callers.items(next[0] += Callers.ITEMS));
                    } else if (filter.contains(Callers.items(0)) != Callers.ITEMS) {
                        throw new IllegalStateException("an item is missing");
                    }
                    return Callers.ITEMS;
                };
            });
        } else if (what.equals("jobs")) {
            jobs(client, new Callers(count, Double.parseDouble(arguments[4])));
        } else if (what.equals("decisions")) {
            RRateLimiter limiter = client.getRateLimiter("bench");
            // As ours: so many a second that nobody is refused.
            limiter.trySetRate(RateType.OVERALL, 1_000_000, Duration.ofSeconds(1));
            new Callers(count, Double.parseDouble(arguments[4])).loops(caller -> () -> {
                if (!limiter.tryAcquire()) {
                    throw new IllegalStateException("refused");
                }
                return 1;
            });
        } else if (what.equals("id_blocks")) {
            // One object for all callers: each object takes a block of its own.
            RIdGenerator ids = client.getIdGenerator("bench");
            new Callers(count, Double.parseDouble(arguments[4])).loops(caller -> () -> {
                for (int each = 0; each < BATCH; each++) {
                    ids.nextId();
                }
                return BATCH;
            });
        } else if (what.equals("reads_and_writes")) {
            new Callers(count, Double.parseDouble(arguments[4])).readsAndWrites(client::getReadWriteLock);
        } else {
            Function<String, Lock> open =
                    arguments[0].equals("RFencedLock") ? client::getFencedLock : client::getLock;
            new Callers(count, Double.parseDouble(arguments[4])).run(what, open);
        }
        client.shutdown();
    }
}
