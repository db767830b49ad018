import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.RandomAccessFile;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.ReadWriteLock;
import org.libdlock.Client;
import org.libdlock.DistributedLock;
import org.libdlock.DistributedSemaphore;
import org.libdlock.Dlock;
import org.libdlock.PermitsHandle;
import org.libdlock.Rate;
import org.libdlock.RateLimiter;
import org.libdlock.Snowflake;

/**
 * One Java process of the demo: threads that TIMES times between them wait for the rate limiter, take the lock, and change the
 * shared file inside; and threads beside them that share a few permits, and others that read and write under a read-write lock, one
 * a little while for every few turns.
 *
 * <pre>Worker URL NAME FILE TIMES WHO WORKER RATE BURST PERMITS [without-lock]</pre>
 *
 * Prints {@code ready}, starts on a line of input, then prints its progress as JSON lines.
 */
public final class Worker {
    private static final int THREADS = 2;
    private static final int SHARERS = 2; // the first takes one permit at a time, the second two
    private static final int ROUNDS_IN = 5; // a round for so many turns
    private static final int VISITORS = 2;
    private static final int WRITES_IN = 4; // every fourth visit of each is a writer's
    private static final long INSIDE_MS = 1;
    private static final long REPORT_EVERY_MS = 250;
    private static final int COUNTER_WIDTH = 12; // digits on the file's first line

    private final DistributedLock lock;
    private final RateLimiter limiter;
    private final DistributedSemaphore semaphore;
    private final ReadWriteLock sides;
    private final Snowflake ids;
    private final String path;
    private final int times;
    private final String who;
    private final boolean locked;

    private int begun;
    private int done;
    private int rounds;
    private int visits;
    private int handovers;
    private double waited;
    private double longest;

    private Worker(
            DistributedLock lock,
            RateLimiter limiter,
            DistributedSemaphore semaphore,
            ReadWriteLock sides,
            Snowflake ids,
            String path,
            int times,
            String who,
            boolean locked) {
        this.lock = lock;
        this.limiter = limiter;
        this.semaphore = semaphore;
        this.sides = sides;
        this.ids = ids;
        this.path = path;
        this.times = times;
        this.who = who;
        this.locked = locked;
    }

    /**
     * Reads, changes and rewrites the shared file, in steps that nothing but the lock protects: the counter on its first line, and a
     * line at its end. Says whether the file was last changed by somebody else.
     */
    private boolean change(String line) throws IOException {
        try (RandomAccessFile file = new RandomAccessFile(path, "rw")) {
            byte[] digits = new byte[COUNTER_WIDTH];
            file.readFully(digits);
            long counter = Long.parseLong(new String(digits, StandardCharsets.US_ASCII));
            byte[] tail = new byte[(int) Math.min(file.length(), 128)];
            file.seek(file.length() - tail.length);
            file.readFully(tail);
            file.write((line + " " + who + "\n").getBytes(StandardCharsets.UTF_8));
            file.seek(0);
            file.write(String.format("%0" + COUNTER_WIDTH + "d", counter + 1).getBytes(StandardCharsets.US_ASCII));
            return !new String(tail, StandardCharsets.UTF_8).endsWith(" " + who + "\n");
        }
    }

    private synchronized boolean anotherTurn() {
        return begun++ < times;
    }

    private synchronized void add(double wait, boolean handedOver) {
        done++;
        handovers += handedOver ? 1 : 0;
        waited += wait;
        longest = Math.max(longest, wait);
    }

    private synchronized void report() {
        System.out.printf(
                Locale.ROOT,
                "{\"done\": %d, \"handovers\": %d, \"waited\": %.6f, \"longest\": %.6f, \"rounds\": %d, \"visits\": %d}%n",
                done,
                handovers,
                waited,
                longest,
                rounds,
                visits);
    }

    /** Of CLOCK_MONOTONIC, which is one for all processes. */
    private static long nowUs() {
        return System.nanoTime() / 1000;
    }

    private synchronized void addRound() {
        rounds++;
    }

    private synchronized void addVisit() {
        visits++;
    }

    /** Is inside a little while, and says so in one line at the end of a file, written as one: nothing protects it. */
    private void round(String file, String how) throws IOException, InterruptedException {
        long entered = nowUs();
        Thread.sleep(INSIDE_MS);
        String line = entered + " " + nowUs() + " " + how + " " + who + "\n";
        Files.writeString(Path.of(path + file), line, StandardOpenOption.CREATE, StandardOpenOption.APPEND);
    }

    /** What each thread does that shares permits. */
    private Void share(int permits) throws IOException, InterruptedException {
        for (int left = times / ROUNDS_IN / SHARERS; left > 0; left--) {
            PermitsHandle held = locked ? semaphore.take(permits) : null;
            try {
                round(".rounds", String.valueOf(permits));
            } finally {
                if (held != null) {
                    held.release();
                }
            }
            addRound();
        }
        return null;
    }

    /** What each thread does that reads and writes. */
    private Void visit() throws IOException, InterruptedException {
        for (int visit = 1; visit <= times / ROUNDS_IN / VISITORS; visit++) {
            boolean writes = visit % WRITES_IN == 0;
            Lock side = writes ? sides.writeLock() : sides.readLock();
            if (locked) {
                side.lock();
            }
            try {
                round(".visits", writes ? "write" : "read");
            } finally {
                if (locked) {
                    side.unlock();
                }
            }
            addVisit();
        }
        return null;
    }

    /** What each thread does that takes the lock. */
    private Void run() throws IOException, InterruptedException {
        long invented = 0;
        while (anotherTurn()) {
            long granted = limiter.acquire().serverTimeUs().getAsLong();
            long asked = System.nanoTime();
            if (locked) {
                lock.lock();
            }
            double wait = (System.nanoTime() - asked) * 1e-9;
            boolean handedOver;
            try {
                long token = locked ? lock.token() : ++invented;
                handedOver = change(token + " " + granted + " " + ids.nextId());
            } finally {
                if (locked) {
                    lock.unlock();
                }
            }
            add(wait, handedOver);
        }
        return null;
    }

    public static void main(String[] arguments) throws IOException, InterruptedException, ExecutionException {
        String who = arguments[4];
        boolean locked = arguments.length == 9;
        ExecutorService threads = Executors.newFixedThreadPool(THREADS + SHARERS + VISITORS);
        try (Client client = Dlock.connect(arguments[0])) {
            DistributedLock lock = client.lock(arguments[1]);
            Rate rate = Rate.of(Long.parseLong(arguments[6]), Duration.ofSeconds(1)).burst(Long.parseLong(arguments[7]));
            RateLimiter limiter = client.rateLimiter(arguments[1] + "-rate", rate);
            DistributedSemaphore semaphore =
                    client.semaphore(arguments[1] + "-permits", Integer.parseInt(arguments[8]));
            ReadWriteLock sides = client.rwLock(arguments[1] + "-sides");
            Snowflake ids = new Snowflake(0, Integer.parseInt(arguments[5]));
            int times = Integer.parseInt(arguments[3]);
            Worker worker = new Worker(lock, limiter, semaphore, sides, ids, arguments[2], times, who, locked);
            System.out.println("ready");
            new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8)).readLine();
            List<Future<Void>> runs = new ArrayList<>();
            for (int thread = 0; thread < THREADS; thread++) {
                runs.add(threads.submit(worker::run));
            }
            for (int sharer = 0; sharer < SHARERS; sharer++) {
                int permits = 1 + sharer;
                runs.add(threads.submit(() -> worker.share(permits)));
            }
            for (int visitor = 0; visitor < VISITORS; visitor++) {
                runs.add(threads.submit(worker::visit));
            }
            for (Future<Void> run : runs) {
                worker.await(run);
            }
            worker.report();
        } finally {
            threads.shutdown();
        }
    }

    /** Waits for a thread to end, and reports now and then. */
    private void await(Future<Void> run) throws InterruptedException, ExecutionException {
        while (true) {
            try {
                run.get(REPORT_EVERY_MS, TimeUnit.MILLISECONDS);
                return;
            } catch (TimeoutException stillRunning) {
                report();
            }
        }
    }
}
