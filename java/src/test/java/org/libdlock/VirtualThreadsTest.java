package org.libdlock;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
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
            try (Client client = Dlock.connect(args[0], Options.defaults().lease(Duration.ofSeconds(5)))) {
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
                System.out.println("free after one ended holding it: " + lock.tryLock(20, TimeUnit.SECONDS));
            }
        }
    }

    /** 200 of them share three permits, of which each takes two by one acquire or by two. */
    static final class Permits {
        public static void main(String[] args) throws Exception {
            try (Client client = Dlock.connect(args[0], Options.defaults().lease(Duration.ofSeconds(5)))) {
                DistributedSemaphore semaphore = client.semaphore(args[1], 3);
                semaphore.acquire(2);
                AtomicInteger asking = new AtomicInteger();
                AtomicInteger inside = new AtomicInteger();
                AtomicInteger turns = new AtomicInteger();
                AtomicInteger most = new AtomicInteger();
                List<Thread> threads = new ArrayList<>();
                for (int i = 0; i < Crowd.THREADS; i++) {
                    threads.add(Crowd.virtual(() -> {
                        asking.incrementAndGet();
                        semaphore.acquireUninterruptibly(2);
                        int now = inside.addAndGet(2);
                        most.accumulateAndGet(semaphore.tryAcquire() ? inside.addAndGet(1) : now, Math::max);
                        turns.incrementAndGet();
                        int held = semaphore.getHoldCount();
                        inside.addAndGet(-1 - held);
                        semaphore.release(1 + held);
                    }));
                }
                Eventually.holds("all ask, on one carrier", () -> asking.get() == Crowd.THREADS);
                AtomicBoolean interrupted = new AtomicBoolean();
                Thread waiting = Crowd.virtual(() -> {
                    try {
                        semaphore.take(2);
                    } catch (InterruptedException e) {
                        interrupted.set(true);
                    }
                });
                Eventually.holds("it waits", () -> waiting.getState() == Thread.State.WAITING);
                waiting.interrupt();
                waiting.join();
                System.out.println("interrupted: " + interrupted + ", turns " + turns);
                semaphore.release(2);
                for (Thread thread : threads) {
                    thread.join();
                }
                System.out.println("turns " + turns + ", at most " + most + ", then " + semaphore.availablePermits());
                Crowd.virtual(semaphore::acquireUninterruptibly).join();
                System.out.println(
                        "back after one ended with a permit: " + semaphore.tryAcquire(3, 20, TimeUnit.SECONDS));
            }
        }
    }

    /** 200 of them use a read-write lock, every fifth to write and then to read on. */
    static final class Sides {
        public static void main(String[] args) throws Exception {
            try (Client client = Dlock.connect(args[0], Options.defaults().lease(Duration.ofSeconds(5)))) {
                DistributedReadWriteLock lock = client.rwLock(args[1]);
                lock.writeLock().lock();
                AtomicInteger asking = new AtomicInteger();
                AtomicInteger reading = new AtomicInteger();
                AtomicInteger turns = new AtomicInteger();
                AtomicBoolean overlap = new AtomicBoolean();
                List<Thread> threads = new ArrayList<>();
                for (int i = 0; i < Crowd.THREADS; i++) {
                    boolean writes = i % 5 == 0;
                    threads.add(Crowd.virtual(() -> {
                        asking.incrementAndGet();
                        if (writes) {
                            lock.writeLock().lock();
                            overlap.compareAndSet(false, reading.get() != 0);
                            lock.readLock().lock();
                            lock.writeLock().unlock();
                        } else {
                            lock.readLock().lock();
                        }
                        reading.incrementAndGet();
                        LockSupport.parkNanos(10_000);
                        reading.decrementAndGet();
                        turns.incrementAndGet();
                        lock.readLock().unlock();
                    }));
                }
                Eventually.holds("all ask, on one carrier", () -> asking.get() == Crowd.THREADS);
                AtomicBoolean interrupted = new AtomicBoolean();
                Thread waiting = Crowd.virtual(() -> {
                    try {
                        lock.readLock().lockInterruptibly();
                    } catch (InterruptedException e) {
                        interrupted.set(true);
                    }
                });
                Eventually.holds("it waits", () -> waiting.getState() == Thread.State.WAITING);
                waiting.interrupt();
                waiting.join();
                System.out.println("interrupted: " + interrupted + ", turns " + turns);
                lock.writeLock().unlock();
                for (Thread thread : threads) {
                    thread.join();
                }
                System.out.println("turns " + turns + ", overlap " + overlap);
                Crowd.virtual(lock.readLock()::lock).join();
                System.out.println(
                        "free after one ended reading: " + lock.writeLock().tryLock(20, TimeUnit.SECONDS));
            }
        }
    }

    /** 200 of them wait for a latch, which the last of 200 that take turns with three permits without owners opens. */
    static final class Latches {
        public static void main(String[] args) throws Exception {
            try (Client client = Dlock.connect(args[0])) {
                DistributedCountDownLatch latch = client.latch(args[1]);
                DistributedCountingSemaphore semaphore = client.countingSemaphore(args[1] + "-permits");
                latch.trySetCount(Crowd.THREADS);
                semaphore.trySetPermits(0);
                AtomicInteger waited = new AtomicInteger();
                AtomicInteger inside = new AtomicInteger();
                AtomicInteger most = new AtomicInteger();
                AtomicInteger interrupted = new AtomicInteger();
                List<Thread> threads = new ArrayList<>();
                for (int i = 0; i < Crowd.THREADS; i++) {
                    threads.add(Crowd.virtual(() -> {
                        try {
                            latch.await();
                            waited.incrementAndGet();
                        } catch (InterruptedException e) {
                            interrupted.incrementAndGet();
                        }
                    }));
                    threads.add(Crowd.virtual(() -> {
                        semaphore.acquireUninterruptibly();
                        most.accumulateAndGet(inside.incrementAndGet(), Math::max);
                        inside.decrementAndGet();
                        semaphore.release();
                        latch.countDown();
                    }));
                }
                Eventually.holds(
                        "all wait, on one carrier",
                        () -> client.stats().latch().waiting() == Crowd.THREADS
                                && client.stats().countingSemaphore().waiting() == Crowd.THREADS);
                Thread given = Crowd.virtual(() -> {
                    try {
                        semaphore.acquire();
                    } catch (InterruptedException e) {
                        interrupted.incrementAndGet();
                    }
                });
                for (Thread waiting : List.of(threads.get(0), given)) {
                    Eventually.holds("it waits", () -> waiting.getState() == Thread.State.WAITING);
                    waiting.interrupt();
                    waiting.join();
                }
                System.out.println("interrupted: " + interrupted + ", waited: " + waited);
                semaphore.release(3);
                for (Thread thread : threads) {
                    thread.join();
                }
                System.out.println("waited: " + waited + ", at most " + most + ", left " + latch.getCount() + ", then "
                        + semaphore.availablePermits());
            }
        }
    }

    private static Jvm.Builder withOneCarrier() throws IOException {
        Optional<Path> jdk = NewestJdk.atLeast(21);
        Assumptions.assumeTrue(jdk.isPresent(), "there is no JDK 21 or later here (NEWEST_JDK names one)");
        return Jvm.with()
                .java(jdk.get())
                .option("--enable-native-access=ALL-UNNAMED")
                .option("-Djdk.virtualThreadScheduler.parallelism=1", "-Djdk.virtualThreadScheduler.maxPoolSize=1");
    }

    @Test
    void twoHundredSharePermitsOnOneCarrier() throws Exception {
        try (Jvm jvm = withOneCarrier().start(Permits.class, server.url(), name)) {
            assertThat(jvm.end()).isEqualTo("""
                            interrupted: true, turns 0
                            turns 200, at most 3, then 3
                            back after one ended with a permit: true
                            """);
        }
    }

    @Test
    void twoHundredWaitForALatchOnOneCarrier() throws Exception {
        try (Jvm jvm = withOneCarrier().start(Latches.class, server.url(), name)) {
            assertThat(jvm.end()).matches("""
                            interrupted: 2, waited: 0
                            waited: 199, at most [1-3], left 0, then 3
                            """);
        }
    }

    @Test
    void twoHundredReadAndWriteOnOneCarrier() throws Exception {
        try (Jvm jvm = withOneCarrier().start(Sides.class, server.url(), name)) {
            assertThat(jvm.end()).isEqualTo("""
                            interrupted: true, turns 0
                            turns 200, overlap false
                            free after one ended reading: true
                            """);
        }
    }

    @Test
    void twoHundredWaitOnOneCarrier() throws Exception {
        try (Jvm jvm = withOneCarrier().start(Crowd.class, server.url(), name)) {
            assertThat(jvm.end()).isEqualTo("""
                            others: 100, turns 0
                            interrupted: true
                            turns 200, overlap false
                            free after one ended holding it: true
                            """);
        }
    }
}
