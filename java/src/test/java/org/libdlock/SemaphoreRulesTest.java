package org.libdlock;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.libdlock.support.Background;
import org.libdlock.support.Eventually;
import org.libdlock.support.Stopwatch;

/** The same rules for the JDK's fair semaphore and for ours, with owners and without: every test here runs on all. */
class SemaphoreRulesTest {
    /** The verbs that both have. */
    interface Verbs {
        void acquire() throws InterruptedException;

        void acquire(int permits) throws InterruptedException;

        void acquireUninterruptibly();

        void acquireUninterruptibly(int permits);

        boolean tryAcquire();

        boolean tryAcquire(int permits);

        boolean tryAcquire(long timeout, TimeUnit unit) throws InterruptedException;

        boolean tryAcquire(int permits, long timeout, TimeUnit unit) throws InterruptedException;

        void release();

        void release(int permits);

        int availablePermits();

        /** Whether anybody stands in the queue. */
        boolean isWaitedFor();
    }

    /** The rules. */
    abstract static class Rules extends WithServer {
        abstract Verbs semaphore(int permits);

        @Test
        void permitsAreTakenAndGivenBack() throws Exception {
            Verbs semaphore = semaphore(3);
            assertThat(semaphore.availablePermits()).isEqualTo(3);
            semaphore.acquire(2);
            assertThat(semaphore.availablePermits()).isEqualTo(1);
            assertThat(semaphore.tryAcquire(2)).isFalse();
            assertThat(semaphore.tryAcquire()).isTrue();
            assertThat(semaphore.availablePermits()).isZero();
            semaphore.release();
            semaphore.release(2);
            assertThat(semaphore.availablePermits()).isEqualTo(3);
        }

        @Test
        void acquiresOfOneThreadAreReleasedTogether() throws Exception {
            Verbs semaphore = semaphore(6);
            semaphore.acquire();
            semaphore.acquire(2);
            semaphore.acquireUninterruptibly(3);
            semaphore.release(5);
            assertThat(semaphore.availablePermits()).isEqualTo(5);
            semaphore.release();
            assertThat(semaphore.availablePermits()).isEqualTo(6);
        }

        @Test
        void aThreadThatHoldsWaitsLikeAnyOther() throws Exception {
            Verbs semaphore = semaphore(1);
            semaphore.acquireUninterruptibly();
            assertThat(semaphore.tryAcquire()).isFalse();
            assertThat(semaphore.tryAcquire(20, TimeUnit.MILLISECONDS)).isFalse();
            semaphore.release();
        }

        @Test
        void aWaiterGetsPermitsAfterTheRelease() throws Exception {
            Verbs semaphore = semaphore(2);
            semaphore.acquire(2);
            List<Callable<Boolean>> ways = List.of(
                    () -> {
                        semaphore.acquire();
                        return true;
                    },
                    () -> {
                        semaphore.acquireUninterruptibly();
                        return true;
                    },
                    () -> semaphore.tryAcquire(1, TimeUnit.HOURS));
            for (Callable<Boolean> way : ways) {
                Background<Integer> waiter = Background.run(() -> {
                            assertThat(way.call()).isTrue();
                            int available = semaphore.availablePermits();
                            semaphore.release();
                            return available;
                        })
                        .waits();
                semaphore.release(2);
                assertThat(waiter.get()).isEqualTo(1);
                semaphore.acquire(2);
            }
            semaphore.release(2);
        }

        @Test
        void whoWantsFewDoesNotOvertakeWhoWantsMany() throws Exception {
            Verbs semaphore = semaphore(3);
            semaphore.acquire(2);
            Background<Boolean> many = Background.run(() -> {
                semaphore.acquire(3);
                semaphore.release(3);
                return true;
            });
            Eventually.holds("it stands in the queue", semaphore::isWaitedFor);
            assertThat(semaphore.tryAcquire(50, TimeUnit.MILLISECONDS)).isFalse();
            semaphore.release(2);
            assertThat(many.get()).isTrue();
            assertThat(semaphore.availablePermits()).isEqualTo(3);
        }

        @Test
        void zeroOrLessDoesNotWait() throws Exception {
            Verbs semaphore = semaphore(2);
            semaphore.acquire();
            for (long time : new long[] {0, -1, Long.MIN_VALUE}) {
                Stopwatch watch = Stopwatch.start();
                assertThat(semaphore.tryAcquire(2, time, TimeUnit.SECONDS)).isFalse();
                assertThat(watch.unhindered()).isLessThan(1000);
            }
            assertThat(semaphore.tryAcquire(-1, TimeUnit.NANOSECONDS)).isTrue();
            semaphore.release(2);
        }

        @Test
        void aTimedTryWaitsThatLong() throws Exception {
            Verbs semaphore = semaphore(2);
            semaphore.acquire(2);
            Stopwatch watch = Stopwatch.start();
            assertThat(semaphore.tryAcquire(2, 150, TimeUnit.MILLISECONDS)).isFalse();
            assertThat(watch.elapsed()).isGreaterThanOrEqualTo(150);
            // Nothing else would end it; a second is for a busy machine.
            assertThat(watch.unhindered()).isLessThan(1150);
            semaphore.release(2);
        }

        @Test
        void anInterruptEndsTheWaitsThatSaySo() throws Exception {
            Verbs semaphore = semaphore(2);
            semaphore.acquire(2);
            List<Callable<Void>> ways = List.of(
                    () -> {
                        semaphore.acquire();
                        return null;
                    },
                    () -> {
                        semaphore.tryAcquire(2, 1, TimeUnit.HOURS);
                        return null;
                    });
            for (Callable<Void> way : ways) {
                Background<Void> waiter = Background.run(way).waits();
                waiter.thread().interrupt();
                assertThat(waiter.thrown()).isInstanceOf(InterruptedException.class);
                assertThat(waiter.thread().isInterrupted()).isFalse();
            }
            semaphore.release(2);
            assertThat(semaphore.tryAcquire(2)).isTrue();
            semaphore.release(2);
        }

        @Test
        void anInterruptBeforehandEndsThemAtOnce() {
            Verbs semaphore = semaphore(1);
            List<Callable<Void>> ways = List.of(
                    () -> {
                        Thread.currentThread().interrupt();
                        semaphore.acquire();
                        return null;
                    },
                    () -> {
                        Thread.currentThread().interrupt();
                        semaphore.tryAcquire(1, TimeUnit.HOURS);
                        return null;
                    });
            for (Callable<Void> way : ways) {
                assertThat(Background.run(way).thrown()).isInstanceOf(InterruptedException.class);
            }
            assertThat(semaphore.availablePermits()).isEqualTo(1);
        }

        @Test
        void theUninterruptibleOneKeepsTheInterrupt() throws Exception {
            Verbs semaphore = semaphore(1);
            semaphore.acquire();
            Background<Boolean> waiter = Background.run(() -> {
                        semaphore.acquireUninterruptibly();
                        boolean kept = Thread.currentThread().isInterrupted();
                        semaphore.release();
                        return kept && Thread.interrupted();
                    })
                    .waits();
            waiter.thread().interrupt();
            waiter.waits();
            assertThat(waiter.isDone()).isFalse();
            semaphore.release();
            assertThat(waiter.get()).isTrue();
        }

        @Test
        void anInterruptedThreadStillTriesAndReleases() {
            Verbs semaphore = semaphore(1);
            Thread.currentThread().interrupt();
            assertThat(semaphore.tryAcquire()).isTrue();
            semaphore.release();
            assertThat(Thread.interrupted()).isTrue();
            assertThat(semaphore.availablePermits()).isEqualTo(1);
        }

        @Test
        void aNegativeNumberIsRefused() {
            Verbs semaphore = semaphore(1);
            assertThatThrownBy(() -> semaphore.acquire(-1)).isInstanceOf(IllegalArgumentException.class);
            assertThatThrownBy(() -> semaphore.acquireUninterruptibly(-1)).isInstanceOf(IllegalArgumentException.class);
            assertThatThrownBy(() -> semaphore.tryAcquire(-1)).isInstanceOf(IllegalArgumentException.class);
            assertThatThrownBy(() -> semaphore.tryAcquire(-1, 1, TimeUnit.SECONDS))
                    .isInstanceOf(IllegalArgumentException.class);
            assertThatThrownBy(() -> semaphore.release(-1)).isInstanceOf(IllegalArgumentException.class);
            assertThat(semaphore.availablePermits()).isEqualTo(1);
        }
    }

    @Nested
    class OfTheJdk extends Rules {
        private static final class Fair extends Semaphore implements Verbs {
            private static final long serialVersionUID = 1;

            Fair(int permits) {
                super(permits, true);
            }

            @Override
            public boolean isWaitedFor() {
                return hasQueuedThreads();
            }
        }

        @Override
        Verbs semaphore(int permits) {
            return new Fair(permits);
        }
    }

    /** Ours, under that interface. */
    private record Ours(DistributedSemaphore semaphore) implements Verbs {
        @Override
        public void acquire() throws InterruptedException {
            semaphore.acquire();
        }

        @Override
        public void acquire(int permits) throws InterruptedException {
            semaphore.acquire(permits);
        }

        @Override
        public void acquireUninterruptibly() {
            semaphore.acquireUninterruptibly();
        }

        @Override
        public void acquireUninterruptibly(int permits) {
            semaphore.acquireUninterruptibly(permits);
        }

        @Override
        public boolean tryAcquire() {
            return semaphore.tryAcquire();
        }

        @Override
        public boolean tryAcquire(int permits) {
            return semaphore.tryAcquire(permits);
        }

        @Override
        public boolean tryAcquire(long timeout, TimeUnit unit) throws InterruptedException {
            return semaphore.tryAcquire(timeout, unit);
        }

        @Override
        public boolean tryAcquire(int permits, long timeout, TimeUnit unit) throws InterruptedException {
            return semaphore.tryAcquire(permits, timeout, unit);
        }

        @Override
        public void release() {
            semaphore.release();
        }

        @Override
        public void release(int permits) {
            semaphore.release(permits);
        }

        @Override
        public int availablePermits() {
            return semaphore.availablePermits();
        }

        @Override
        public boolean isWaitedFor() {
            return semaphore.inspect().queued() > 0;
        }
    }

    @Nested
    class OfDistributedSemaphore extends Rules {
        @Override
        Verbs semaphore(int permits) {
            return new Ours(connect().semaphore(name, permits));
        }
    }

    @Nested
    class OfDistributedSemaphoreInMemory extends Rules {
        @Override
        Verbs semaphore(int permits) {
            return new Ours(closing(Dlock.connect("memory://")).semaphore(name, permits));
        }
    }

    /** The one without owners, under that interface. */
    private record OursWithoutOwners(DistributedCountingSemaphore semaphore) implements Verbs {
        static OursWithoutOwners of(Client client, String name, int permits) {
            DistributedCountingSemaphore semaphore = client.countingSemaphore(name);
            assertThat(semaphore.trySetPermits(permits)).isTrue();
            return new OursWithoutOwners(semaphore);
        }

        @Override
        public void acquire() throws InterruptedException {
            semaphore.acquire();
        }

        @Override
        public void acquire(int permits) throws InterruptedException {
            semaphore.acquire(permits);
        }

        @Override
        public void acquireUninterruptibly() {
            semaphore.acquireUninterruptibly();
        }

        @Override
        public void acquireUninterruptibly(int permits) {
            semaphore.acquireUninterruptibly(permits);
        }

        @Override
        public boolean tryAcquire() {
            return semaphore.tryAcquire();
        }

        @Override
        public boolean tryAcquire(int permits) {
            return semaphore.tryAcquire(permits);
        }

        @Override
        public boolean tryAcquire(long timeout, TimeUnit unit) throws InterruptedException {
            return semaphore.tryAcquire(timeout, unit);
        }

        @Override
        public boolean tryAcquire(int permits, long timeout, TimeUnit unit) throws InterruptedException {
            return semaphore.tryAcquire(permits, timeout, unit);
        }

        @Override
        public void release() {
            semaphore.release();
        }

        @Override
        public void release(int permits) {
            semaphore.release(permits);
        }

        @Override
        public int availablePermits() {
            return semaphore.availablePermits();
        }

        @Override
        public boolean isWaitedFor() {
            return semaphore.inspect().queued() > 0;
        }
    }

    @Nested
    class OfDistributedCountingSemaphore extends Rules {
        @Override
        Verbs semaphore(int permits) {
            return OursWithoutOwners.of(connect(), name, permits);
        }
    }

    @Nested
    class OfDistributedCountingSemaphoreInMemory extends Rules {
        @Override
        Verbs semaphore(int permits) {
            return OursWithoutOwners.of(closing(Dlock.connect("memory://")), name, permits);
        }
    }
}
