package org.libdlock;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.libdlock.support.Eventually;
import org.libdlock.support.Jvm;

/** The JVM exits by itself, whatever is held, open or under way. */
class ExitTest extends WithServer {
    /** Leaves with 600 operations under way, a lock held, a worker number leased, tokens fetched ahead and a client open. */
    static final class Leaving {
        public static void main(String[] args) throws Exception {
            Client client = Dlock.connect(args[0]);
            String name = args[1];
            DistributedLock lock = client.lock(name);
            lock.lock();
            LockHandle handle = client.lock(name + "-async").lockAsync().get();
            RateLimiter slow = client.rateLimiter(name, Rate.of(1, Duration.ofHours(1)));
            slow.tryAcquire();
            RateLimiter hot =
                    client.rateLimiter(name + "-hot", Rate.of(5_000, Duration.ofSeconds(1)), Absent.FAIL, 0.5);
            RateLimiter log = client.rateLimiter(
                    name + "-log", Rate.of(100_000, Duration.ofSeconds(1)).by(Algorithm.SLIDING_LOG));
            Snowflake ids = client.worker(name).snowflake();
            CountDownLatch started = new CountDownLatch(100);
            for (int i = 0; i < 100; i++) {
                int number = i;
                lock.lockAsync().thenAccept(LockHandle::close);
                handle.onLost();
                slow.acquireAsync(1, null);
                log.reserveAsync(1, null).thenRun(() -> log.penaltyAsync(1));
                client.workerAsync(name + "-" + number).thenAccept(Worker::close);
                Thread thread = new Thread(() -> {
                    started.countDown();
                    if (number % 2 == 0) {
                        lock.lock();
                    }
                    DistributedLock own = client.lock(name + "-" + number);
                    while (true) {
                        own.lock();
                        own.unlock();
                        hot.tryAcquire();
                        log.tryAcquire();
                        ids.nextIds(100);
                    }
                });
                thread.setDaemon(true);
                thread.start();
            }
            started.await();
            System.out.println("leaving");
            switch (args[2]) {
                case "exit" -> System.exit(7);
                case "halt" -> Runtime.getRuntime().halt(7);
                case "throw" -> throw new IllegalStateException("the end of main");
                case "close" -> client.close();
                default -> {}
            }
        }
    }

    private void leave(String way) {
        try (Jvm jvm = Jvm.with().option("-Xlog:disable").start(Leaving.class, server.url(), name, way)) {
            assertThat(jvm.line()).isEqualTo("leaving");
            jvm.end(way.equals("exit") || way.equals("halt") ? 7 : way.equals("throw") ? 1 : 0);
        }
        server.command("FLUSHALL");
    }

    @ParameterizedTest
    @ValueSource(strings = {"return", "exit", "halt", "throw", "close"})
    void itEndsWith600OperationsUnderWay(String way) {
        leave(way);
    }

    @Test
    @Tag("long")
    @Timeout(value = 10, unit = TimeUnit.MINUTES)
    void itEnds200Times() {
        for (int i = 0; i < 40; i++) {
            for (String way : List.of("return", "exit", "halt", "throw", "close")) {
                leave(way);
            }
        }
    }

    /** Uses a lock in a shutdown hook. */
    static final class LastWords {
        public static void main(String[] args) {
            Client client = Dlock.connect(args[0]);
            DistributedLock lock = client.lock(args[1]);
            lock.lock();
            Runtime.getRuntime().addShutdownHook(new Thread(() -> {
                client.lock(args[1] + "-hook").lock();
                client.close(true);
                System.out.println("released");
            }));
        }
    }

    @Test
    void aShutdownHookMayReleaseWhatIsHeld() {
        try (Jvm jvm = Jvm.start(LastWords.class, server.url(), name)) {
            assertThat(jvm.end()).isEqualTo("released\n");
        }
        Eventually.holds(
                "free", () -> server.command("EXISTS", name, name + "-hook").equals(0L));
    }
}
