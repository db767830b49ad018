package org.libdlock;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.ToIntFunction;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.libdlock.support.Background;
import org.libdlock.support.Stopwatch;

/** The same rules for the JDK's lock and for ours: every test here runs on both. */
class ReentrantRulesTest {
    /** The rules. */
    abstract static class Rules extends WithServer {
        abstract Lock lock();

        abstract ToIntFunction<Lock> holdCount();

        private int count(Lock lock) {
            return holdCount().applyAsInt(lock);
        }

        @Test
        void aHolderAcquiresAgainAndReleasesAsOften() {
            Lock lock = lock();
            for (int level = 1; level <= 3; level++) {
                lock.lock();
                assertThat(count(lock)).isEqualTo(level);
            }
            assertThat(lock.tryLock()).isTrue();
            for (int level = 3; level >= 0; level--) {
                assertThat(Background.run(lock::tryLock).get()).isFalse();
                lock.unlock();
                assertThat(count(lock)).isEqualTo(level);
            }
            assertThat(Background.run(lock::tryLock).get()).isTrue();
        }

        @Test
        void nobodyElseReleases() {
            Lock lock = lock();
            assertThatThrownBy(lock::unlock).isInstanceOf(IllegalMonitorStateException.class);
            lock.lock();
            Background<?> other = Background.run(() -> {
                lock.unlock();
                return null;
            });
            assertThat(other.thrown()).isInstanceOf(IllegalMonitorStateException.class);
            assertThat(count(lock)).isEqualTo(1);
            lock.unlock();
            assertThatThrownBy(lock::unlock).isInstanceOf(IllegalMonitorStateException.class);
        }

        @Test
        void aWaiterGetsItAfterTheRelease() {
            Lock lock = lock();
            lock.lock();
            Background<Integer> waiter = Background.run(() -> {
                        lock.lock();
                        try {
                            return count(lock);
                        } finally {
                            lock.unlock();
                        }
                    })
                    .waits();
            assertThat(count(lock)).isEqualTo(1);
            lock.unlock();
            assertThat(waiter.get()).isEqualTo(1);
        }

        @Test
        void zeroOrLessDoesNotWait() throws InterruptedException {
            Lock lock = lock();
            lock.lock();
            for (long time : new long[] {0, -1, Long.MIN_VALUE}) {
                Stopwatch watch = Stopwatch.start();
                assertThat(Background.run(() -> lock.tryLock(time, TimeUnit.SECONDS))
                                .get())
                        .isFalse();
                assertThat(watch.unhindered()).isLessThan(1000);
            }
            lock.unlock();
            assertThat(lock.tryLock(-1, TimeUnit.NANOSECONDS)).isTrue();
            lock.unlock();
        }

        @Test
        void aTimedTryWaitsThatLong() {
            Lock lock = lock();
            lock.lock();
            Stopwatch watch = Stopwatch.start();
            assertThat(Background.run(() -> lock.tryLock(150, TimeUnit.MILLISECONDS))
                            .get())
                    .isFalse();
            assertThat(watch.elapsed()).isGreaterThanOrEqualTo(150);
            // Nothing else would end it; a second is for a busy machine.
            assertThat(watch.unhindered()).isLessThan(1150);
            lock.unlock();
        }

        @Test
        void anInterruptEndsTheWaitsThatSaySo() {
            Lock lock = lock();
            lock.lock();
            Background<?> interruptibly = Background.run(() -> {
                lock.lockInterruptibly();
                return null;
            });
            Background<?> timed = Background.run(() -> lock.tryLock(1, TimeUnit.HOURS));
            for (Background<?> waiter : new Background<?>[] {interruptibly, timed}) {
                Background<?> waiting = waiter == interruptibly ? waiter.waits() : waiter;
                waiting.thread().interrupt();
                assertThat(waiting.thrown()).isInstanceOf(InterruptedException.class);
                assertThat(waiting.thread().isInterrupted()).isFalse();
            }
            lock.unlock();
            assertThat(Background.run(lock::tryLock).get()).isTrue();
        }

        @Test
        void anInterruptBeforehandEndsThemAtOnceAlsoWhenTheLockIsFree() {
            Lock lock = lock();
            Background<?> interruptibly = Background.run(() -> {
                Thread.currentThread().interrupt();
                lock.lockInterruptibly();
                return null;
            });
            assertThat(interruptibly.thrown()).isInstanceOf(InterruptedException.class);
            Background<?> timed = Background.run(() -> {
                Thread.currentThread().interrupt();
                return lock.tryLock(1, TimeUnit.HOURS);
            });
            assertThat(timed.thrown()).isInstanceOf(InterruptedException.class);
            lock.lock();
            lock.unlock();
        }

        @Test
        void lockWaitsOnAndKeepsTheInterruptForLater() {
            Lock lock = lock();
            lock.lock();
            Background<Boolean> waiter = Background.run(() -> {
                        lock.lock();
                        boolean kept = Thread.currentThread().isInterrupted();
                        lock.unlock();
                        return kept && Thread.interrupted();
                    })
                    .waits();
            waiter.thread().interrupt();
            waiter.waits();
            assertThat(waiter.isDone()).isFalse();
            lock.unlock();
            assertThat(waiter.get()).isTrue();
        }

        @Test
        void anInterruptedThreadStillTriesAndReleases() {
            Lock lock = lock();
            Thread.currentThread().interrupt();
            assertThat(lock.tryLock()).isTrue();
            lock.unlock();
            assertThat(Thread.interrupted()).isTrue();
        }

        @Test
        void nestedTenThousandDeep() {
            Lock lock = lock();
            for (int level = 0; level < 10_000; level++) {
                lock.lock();
            }
            assertThat(count(lock)).isEqualTo(10_000);
            for (int level = 0; level < 10_000; level++) {
                lock.unlock();
            }
            assertThat(count(lock)).isZero();
        }
    }

    @Nested
    class OfReentrantLock extends Rules {
        private final Lock lock = new ReentrantLock();

        @Override
        Lock lock() {
            return lock;
        }

        @Override
        ToIntFunction<Lock> holdCount() {
            return lock -> ((ReentrantLock) lock).getHoldCount();
        }
    }

    @Nested
    class OfDistributedLock extends Rules {
        @Override
        Lock lock() {
            return connect().lock(name);
        }

        @Override
        ToIntFunction<Lock> holdCount() {
            return lock -> ((DistributedLock) lock).getHoldCount();
        }
    }

    @Nested
    class OfDistributedLockInMemory extends Rules {
        @Override
        Lock lock() {
            return closing(Dlock.connect("memory://")).lock(name);
        }

        @Override
        ToIntFunction<Lock> holdCount() {
            return lock -> ((DistributedLock) lock).getHoldCount();
        }
    }
}
