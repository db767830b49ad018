package org.libdlock;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Test;
import org.libdlock.support.Eventually;
import org.libdlock.support.Jvm;
import org.libdlock.support.NewestJdk;

/** On a JDK that has them, with one carrier for all: a virtual thread that kept its carrier while it waits would stop all others. */
class VirtualThreadsTest extends WithServer {
    /** 200 of them wait for one lock. */
    static final class Crowd {
        private static final int THREADS = 200;

        /** This is compiled for a JDK that does not know them. */
        private static Thread virtual(Runnable work) {
            try {
                return (Thread) Thread.class
                        .getMethod("startVirtualThread", Runnable.class)
                        .invoke(null, work);
            } catch (ReflectiveOperationException e) {
                throw new LinkageError("this JDK has no virtual threads", e);
            }
        }

        public static void main(String[] args) throws Exception {
            try (Client client = Dlock.connect(args[0], Options.defaults().lease(Duration.ofSeconds(1)))) {
                DistributedLock lock = client.lock(args[1]);
                lock.lock();
                AtomicInteger asking = new AtomicInteger();
                AtomicInteger inside = new AtomicInteger();
                AtomicInteger turns = new AtomicInteger();
                AtomicBoolean overlap = new AtomicBoolean();
                List<Thread> threads = new ArrayList<>();
                for (int i = 0; i < THREADS; i++) {
                    threads.add(virtual(() -> {
                        asking.incrementAndGet();
                        lock.lock();
                        overlap.compareAndSet(false, inside.incrementAndGet() != 1 || lock.getHoldCount() != 1);
                        turns.incrementAndGet();
                        inside.decrementAndGet();
                        lock.unlock();
                    }));
                }
                Eventually.holds("all ask, on one carrier", () -> asking.get() == THREADS);
                // While they wait, another one still gets on.
                CompletableFuture<Integer> other = new CompletableFuture<>();
                virtual(() -> {
                    int rounds = 0;
                    for (; rounds < 100; rounds++) {
                        client.lock(args[1] + "-other").lock();
                        client.lock(args[1] + "-other").unlock();
                    }
                    other.complete(rounds);
                });
                System.out.println("others: " + other.get(20, TimeUnit.SECONDS) + ", turns " + turns);
                AtomicBoolean interrupted = new AtomicBoolean();
                Thread waiting = virtual(() -> {
                    try {
                        lock.lockInterruptibly();
                    } catch (InterruptedException e) {
                        interrupted.set(true);
                    }
                });
                Eventually.holds("it waits", () -> waiting.getState() == Thread.State.WAITING);
                waiting.interrupt();
                waiting.join();
                System.out.println("interrupted: " + interrupted);
                lock.unlock();
                for (Thread thread : threads) {
                    thread.join();
                }
                System.out.println("turns " + turns + ", overlap " + overlap);
                virtual(lock::lock).join();
                System.out.println("free after one ended holding it: " + lock.tryLock(5, TimeUnit.SECONDS));
            }
        }
    }

    @Test
    void twoHundredWaitOnOneCarrier() throws Exception {
        Optional<Path> jdk = NewestJdk.atLeast(21);
        Assumptions.assumeTrue(jdk.isPresent(), "there is no JDK 21 or later here (NEWEST_JDK names one)");
        Jvm.Builder builder = Jvm.with()
                .java(jdk.get())
                .option("--enable-native-access=ALL-UNNAMED")
                .option("-Djdk.virtualThreadScheduler.parallelism=1", "-Djdk.virtualThreadScheduler.maxPoolSize=1");
        try (Jvm jvm = builder.start(Crowd.class, server.url(), name)) {
            assertThat(jvm.end()).isEqualTo("""
                            others: 100, turns 0
                            interrupted: true
                            turns 200, overlap false
                            free after one ended holding it: true
                            """);
        }
    }
}
