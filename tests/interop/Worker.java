import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.libdlock.Client;
import org.libdlock.Decision;
import org.libdlock.DistributedLock;
import org.libdlock.DistributedReadWriteLock;
import org.libdlock.DistributedSemaphore;
import org.libdlock.Dlock;
import org.libdlock.Held;
import org.libdlock.HoldEndedException;
import org.libdlock.LockHandle;
import org.libdlock.LockOptions;
import org.libdlock.PermitsHandle;
import org.libdlock.Rate;
import org.libdlock.RwLockHandle;
import org.libdlock.Snowflake;
import org.libdlock.WorkerOptions;

/** The Java process of the interop tests: does what the lines on its input say, see worker.py for the protocol. */
public final class Worker {
    private final Client client;
    private final Map<String, DistributedLock> locks = new HashMap<>();
    private final Map<String, PermitsHandle> permits = new HashMap<>();
    private final Map<String, RwLockHandle> sides = new HashMap<>();
    private final Map<String, org.libdlock.Worker> numbers = new HashMap<>();
    private final Map<String, Snowflake> generators = new HashMap<>();
    private final List<LockHandle> watched = new ArrayList<>();

    private Worker(Client client) {
        this.client = client;
    }

    /** CLOCK_MONOTONIC, which is one for all processes of the machine. */
    private static long nowUs() {
        return System.nanoTime() / 1000;
    }

    /** What all callers say of their holds, when they are done. */
    private static String crowd(DistributedLock lock, int rounds, int callers) throws InterruptedException {
        var said = new ConcurrentLinkedQueue<String>();
        List<Thread> threads = new ArrayList<>();
        for (int caller = 0; caller < callers; caller++) {
            threads.add(new Thread(() -> {
                for (int round = 0; round < rounds; round++) {
                    long asked = nowUs();
                    lock.lock();
                    try {
                        long begin = nowUs();
                        said.add("hold " + lock.token() + " " + begin + " " + nowUs() + " " + asked + "\n");
                    } finally {
                        lock.unlock();
                    }
                }
            }));
        }
        threads.forEach(Thread::start);
        for (Thread thread : threads) {
            thread.join();
        }
        return String.join("", said);
    }

    /** Acquires what a word asks for. */
    private interface Take<H extends Held> {
        H take(String want) throws InterruptedException;
    }

    /**
     * What a caller for each word of {@code wants}, with commas, says of its turns, when all are done; {@code of} says what else there is
     * to say of a hold.
     */
    private static <H extends Held> String turns(int rounds, String wants, Take<H> take, Function<H, String> of)
            throws InterruptedException {
        var said = new ConcurrentLinkedQueue<String>();
        List<Thread> threads = new ArrayList<>();
        for (String want : wants.split(",")) {
            threads.add(new Thread(() -> {
                try {
                    for (int round = 0; round < rounds; round++) {
                        long asked = nowUs();
                        try (H held = take.take(want)) {
                            long begin = nowUs();
                            Thread.sleep(1);
                            said.add("turn " + want + " " + begin + " " + nowUs() + " " + asked + of.apply(held) + "\n");
                        }
                    }
                } catch (InterruptedException nobodyDoes) {
                    throw new IllegalStateException(nobodyDoes);
                }
            }));
        }
        threads.forEach(Thread::start);
        for (Thread thread : threads) {
            thread.join();
        }
        return String.join("", said);
    }

    /** Says whether it was a request about a semaphore. */
    private boolean runWithPermits(String[] words) throws InterruptedException {
        switch (words[0]) {
            case "permits" -> {
                DistributedSemaphore semaphore = client.semaphore(words[1], Integer.parseInt(words[2]));
                PermitsHandle held = semaphore.take(Integer.parseInt(words[3]));
                long acquired = nowUs();
                permits.put(words[1], held);
                System.out.println("permits " + acquired + " " + String.join(",", held.permits()));
            }
            case "give" -> {
                long called = nowUs();
                permits.get(words[1]).release();
                System.out.println("gave " + called);
            }
            case "share" -> {
                DistributedSemaphore semaphore = client.semaphore(words[1], Integer.parseInt(words[2]));
                Take<PermitsHandle> take = permits -> semaphore.take(Integer.parseInt(permits));
                System.out.print(turns(Integer.parseInt(words[3]), words[4], take, held -> ""));
                System.out.println("done");
            }
            default -> {
                return false;
            }
        }
        return true;
    }

    private static RwLockHandle take(DistributedReadWriteLock lock, String side) throws InterruptedException {
        return (side.equals("write") ? lock.writeLock() : lock.readLock()).acquire();
    }

    /** Says whether it was a request about a read-write lock. */
    private boolean runWithSides(String[] words) throws InterruptedException {
        switch (words[0]) {
            case "side" -> {
                RwLockHandle held = take(client.rwLock(words[1]), words[2]);
                System.out.println("side " + nowUs() + " " + held.token());
                sides.put(words[1], held);
            }
            case "downgrade" -> {
                long called = nowUs();
                RwLockHandle held = sides.get(words[1]).downgrade();
                sides.put(words[1], held);
                System.out.println("downgraded " + called + " " + held.token());
            }
            case "leave" -> {
                long called = nowUs();
                sides.remove(words[1]).release();
                System.out.println("left " + called);
            }
            case "mix" -> {
                DistributedReadWriteLock lock = client.rwLock(words[1]);
                int rounds = Integer.parseInt(words[2]);
                System.out.print(turns(rounds, words[3], side -> take(lock, side), held -> " " + held.token()));
                System.out.println("done");
            }
            default -> {
                return false;
            }
        }
        return true;
    }

    /** Says whether it was a request about a worker number. */
    private boolean runWithNumbers(String[] words) {
        switch (words[0]) {
            case "number" -> {
                var leased = client.worker(words[1], WorkerOptions.defaults().bits(4));
                numbers.put(words[1], leased);
                generators.put(words[1], leased.snowflake());
                System.out.println("number " + leased.number());
            }
            case "ids" -> System.out.println("ids " + made(generators.get(words[1]), Integer.parseInt(words[2])));
            case "back" -> {
                numbers.get(words[1]).release();
                System.out.println("back");
            }
            default -> {
                return false;
            }
        }
        return true;
    }

    private static String made(Snowflake generator, int count) {
        try {
            return Arrays.stream(generator.nextIds(count)).mapToObj(Long::toString).collect(Collectors.joining(","));
        } catch (HoldEndedException over) {
            return "none";
        }
    }

    private void watch(String name, int count) {
        for (int number = 0; number < count; number++) {
            LockHandle held = client.lock(name + "-" + number).lockAsync().join();
            watched.add(held);
            held.onLost().thenAccept(reason -> System.out.println("lost " + held.remaining().toNanos() / 1000));
        }
        System.out.println("watching");
    }

    private void run(String request) throws InterruptedException {
        String[] words = request.split(" ");
        if (words[0].equals("watch")) {
            watch(words[1], Integer.parseInt(words[2]));
            return;
        }
        if (words[0].equals("renew")) {
            Duration lease = Duration.ofMillis(Long.parseLong(words[2]));
            DistributedLock renewed = client.lock(words[1], LockOptions.defaults().watchdogLease(lease));
            locks.put(words[1], renewed);
            renewed.lock();
            System.out.println("renewed");
            return;
        }
        if (words[0].equals("spend")) {
            Decision decision = client.rateLimiter(words[1], Rate.of(10, Duration.ofHours(1))).tryAcquire();
            System.out.println("spent " + (decision.allowed() ? 1 : 0) + " " + decision.remaining());
            return;
        }
        if (runWithPermits(words) || runWithSides(words) || runWithNumbers(words)) {
            return;
        }
        DistributedLock lock = locks.computeIfAbsent(words[1], client::lock);
        switch (words[0]) {
            case "acquire" -> {
                lock.lock();
                System.out.println("acquired " + nowUs() + " " + lock.token());
            }
            case "release" -> {
                long called = nowUs();
                lock.unlock();
                System.out.println("released " + called);
            }
            case "contend" -> {
                for (int round = Integer.parseInt(words[2]); round > 0; round--) {
                    lock.lock();
                    try {
                        long acquired = nowUs();
                        System.out.println("hold " + lock.token() + " " + acquired + " " + nowUs());
                    } finally {
                        lock.unlock();
                    }
                }
                System.out.println("done");
            }
            case "crowd" -> {
                System.out.print(crowd(lock, Integer.parseInt(words[2]), Integer.parseInt(words[3])));
                System.out.println("done");
            }
            default -> throw new IllegalArgumentException("cannot read " + request);
        }
    }

    public static void main(String[] arguments) throws IOException, InterruptedException {
        try (Client client = Dlock.connect(arguments[0])) {
            Worker worker = new Worker(client);
            System.out.println("ready");
            var lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
            for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                worker.run(line);
            }
        }
    }
}
