import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.libdlock.Client;
import org.libdlock.Decision;
import org.libdlock.DistributedLock;
import org.libdlock.Dlock;
import org.libdlock.LockHandle;
import org.libdlock.LockOptions;
import org.libdlock.Rate;

/** The Java process of the interop tests: does what the lines on its input say, see worker.py for the protocol. */
public final class Worker {
    private final Client client;
    private final Map<String, DistributedLock> locks = new HashMap<>();
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
