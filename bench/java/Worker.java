import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Locale;
import java.util.StringJoiner;
import java.util.concurrent.CompletableFuture;
import java.util.function.LongSupplier;
import org.libdlock.Absent;
import org.libdlock.BloomFilter;
import org.libdlock.Client;
import org.libdlock.Delivery;
import org.libdlock.DistributedLock;
import org.libdlock.DistributedQueue;
import org.libdlock.DistributedSemaphore;
import org.libdlock.Dlock;
import org.libdlock.IdGenerator;
import org.libdlock.NewJob;
import org.libdlock.Rate;
import org.libdlock.RateLimiter;
import org.libdlock.Snowflake;

/**
 * The Java worker of bench/run.py; see bench/README.md.
 *
 * <pre>Worker WHAT URL CALLERS SECONDS</pre>
 */
public final class Worker {
    private static final int BATCH = 1000; // ids, and what is quick between two looks at the clock

    private static final int APART_MS = 5; // between two acquires of `lost`, so that the leases end one after the other

    private Worker() {}

    /** Decisions of one rate limiter, so wide that nobody is refused. */
    private static LongSupplier decisions(Client client) {
        RateLimiter limiter = client.rateLimiter("bench", Rate.of(1_000_000, Duration.ofSeconds(1)));
        return () -> limiter.tryAcquire().granted();
    }

    /** Of one that hardly ever asks the server. */
    private static LongSupplier prefetched(Client client) {
        Rate rate = Rate.of(1_000_000_000, Duration.ofSeconds(1));
        RateLimiter limiter = client.rateLimiter("bench", rate, Absent.FAIL, 0.5);
        return () -> {
            long granted = 0;
            for (int each = 0; each < BATCH; each++) {
                granted += limiter.tryAcquire().granted();
            }
            return granted;
        };
    }

    private static LongSupplier ids() {
        Snowflake ids = new Snowflake(1, 1);
        return () -> {
            for (int each = 0; each < BATCH; each++) {
                ids.nextId();
            }
            return BATCH;
        };
    }

    private static LongSupplier batches() {
        Snowflake ids = new Snowflake(1, 1);
        return () -> ids.nextIds(BATCH).length;
    }

    private static LongSupplier idBlocks(Client client) {
        IdGenerator ids = client.idGenerator("bench");
        return () -> {
            for (int each = 0; each < BATCH; each++) {
                ids.nextId();
            }
            return BATCH;
        };
    }

    private static LongSupplier bloomAdd(Client client) {
        BloomFilter filter = client.bloomFilter("bench", 10_000_000, 0.01);
        int[] next = {0};
        return () -> {
            filter.addEach(Callers.items(next[0] += Callers.ITEMS));
            return Callers.ITEMS;
        };
    }

    private static LongSupplier bloomContains(Client client) {
        BloomFilter filter = client.bloomFilter("bench", 10_000_000, 0.01);
        filter.addEach(Callers.items(0));
        return () -> {
            for (boolean found : filter.containsEach(Callers.items(0))) {
                if (!found) {
                    throw new IllegalStateException("an item is missing");
                }
            }
            return Callers.ITEMS;
        };
    }

    /** A job is put, one is taken, and ended. */
    private static LongSupplier jobs(Client client) {
        DistributedQueue queue = client.queue("bench");
        byte[] payload = Callers.PAYLOAD.getBytes(StandardCharsets.US_ASCII);
        return () -> {
            queue.put(payload);
            try {
                queue.take().ack();
            } catch (InterruptedException interrupted) {
                throw new IllegalStateException(interrupted);
            }
            return 1;
        };
    }

    /** The same of a batch. */
    private static LongSupplier jobBatches(Client client) {
        DistributedQueue queue = client.queue("bench");
        List<NewJob> batch = Collections.nCopies(Callers.JOBS, NewJob.of(Callers.PAYLOAD));
        return () -> {
            queue.putMany(batch);
            try {
                return Collections.frequency(queue.ackMany(queue.takeMany(Callers.JOBS, null)), true);
            } catch (InterruptedException interrupted) {
                throw new IllegalStateException(interrupted);
            }
        };
    }

    /** Lock and unlock what the thread holds: each thread takes it the first time it comes by. */
    private static LongSupplier reentry(Client client, int caller) {
        DistributedLock lock = client.lock("bench-" + caller);
        return () -> {
            if (!lock.isHeldByCurrentThread()) {
                lock.lock();
            }
            for (int each = 0; each < BATCH; each++) {
                lock.lock();
                lock.unlock();
            }
            return BATCH;
        };
    }

    /**
     * Holds so many locks; from the start on the server does not answer. Tells how long before each lease's end its signal
     * came.
     */
    private static void lost(Client client, int count) throws Exception {
        List<DistributedLock> locks = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            DistributedLock lock = client.lock("bench-" + i);
            lock.lock();
            locks.add(lock);
            Thread.sleep(APART_MS);
        }
        Callers.ready();
        List<CompletableFuture<Double>> margins = new ArrayList<>();
        for (DistributedLock lock : locks) {
            long ends = System.nanoTime() + lock.remaining().toNanos();
            margins.add(lock.onLost().thenApply(reason -> (ends - System.nanoTime()) * 1e-6));
        }
        StringJoiner told = new StringJoiner(", ");
        for (CompletableFuture<Double> margin : margins) {
            told.add(String.format(Locale.ROOT, "%.3f", margin.get()));
        }
        Callers.answer("{\"margins_ms\": [" + told + "]}");
        Runtime.getRuntime().halt(0); // nothing is left to release
    }

    public static void main(String[] arguments) throws Exception {
        String what = arguments[0];
        int count = Integer.parseInt(arguments[2]);
        Callers callers = new Callers(count, Double.parseDouble(arguments[3]));
        try (Client client = Dlock.connect(arguments[1])) {
            switch (what) {
                case "decisions" -> callers.loops(caller -> decisions(client));
                case "prefetched" -> callers.loops(caller -> prefetched(client));
                case "ids" -> callers.loops(caller -> ids());
                case "batches" -> callers.loops(caller -> batches());
                case "id_blocks" -> callers.loops(caller -> idBlocks(client));
                case "bloom_add" -> callers.loops(caller -> bloomAdd(client));
                case "bloom_contains" -> callers.loops(caller -> bloomContains(client));
                case "jobs" -> callers.loops(caller -> jobs(client));
                case "job_batches" -> callers.loops(caller -> jobBatches(client));
                case "reentry" -> callers.loops(caller -> reentry(client, caller));
                case "lost" -> lost(client, count);
                case "permits" -> {
                    DistributedSemaphore semaphore = client.semaphore("bench", Callers.PERMITS);
                    callers.permits(() -> {
                        semaphore.acquire();
                        semaphore.release();
                        return null;
                    });
                }
                case "reads" -> callers.reads(client.rwLock("bench"));
                case "reads_and_writes" -> callers.readsAndWrites(client::rwLock);
                default -> callers.run(what, client::lock);
            }
        }
    }
}
