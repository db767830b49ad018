package org.libdlock;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.ReadWriteLock;
import java.util.concurrent.locks.ReentrantReadWriteLock;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.libdlock.support.Background;
import org.libdlock.support.Eventually;
import org.libdlock.support.Stopwatch;

/** The same rules for the JDK's fair read-write lock and for ours: every test here runs on both. */
class RwLockRulesTest {
    /** The rules. */
    abstract static class Rules extends WithServer {
        abstract ReadWriteLock lock();

        abstract int reads(ReadWriteLock lock);

        abstract int writes(ReadWriteLock lock);

        /** Waits until a caller's place is known to whoever decides: its thread may have asked, and not be heard yet. */
        void untilSomebodyIsQueued(ReadWriteLock lock) {}

        /** A thread of its own finds whether it could have that side, without overtaking anybody. */
        private static boolean isToBeHad(Lock side) {
            return Background.run(() -> {
                        boolean got = side.tryLock(0, TimeUnit.SECONDS);
                        if (got) {
                            side.unlock();
                        }
                        return got;
                    })
                    .get();
        }

        @Test
        void readersReadTogetherAndAWriterIsAlone() {
            ReadWriteLock lock = lock();
            lock.readLock().lock();
            assertThat(isToBeHad(lock.readLock())).isTrue();
            assertThat(isToBeHad(lock.writeLock())).isFalse();
            lock.readLock().unlock();
            lock.writeLock().lock();
            assertThat(isToBeHad(lock.readLock())).isFalse();
            assertThat(isToBeHad(lock.writeLock())).isFalse();
            lock.writeLock().unlock();
            assertThat(isToBeHad(lock.writeLock())).isTrue();
        }

        @Test
        void aHolderAcquiresASideAgainAndReleasesAsOften() {
            ReadWriteLock lock = lock();
            for (int level = 1; level <= 3; level++) {
                lock.readLock().lock();
                assertThat(reads(lock)).isEqualTo(level);
            }
            for (int level = 2; level >= 0; level--) {
                assertThat(isToBeHad(lock.writeLock())).isFalse();
                lock.readLock().unlock();
                assertThat(reads(lock)).isEqualTo(level);
            }
            for (int level = 1; level <= 3; level++) {
                assertThat(lock.writeLock().tryLock()).isTrue();
                assertThat(writes(lock)).isEqualTo(level);
            }
            for (int level = 2; level >= 0; level--) {
                assertThat(isToBeHad(lock.readLock())).isFalse();
                lock.writeLock().unlock();
                assertThat(writes(lock)).isEqualTo(level);
            }
            assertThat(isToBeHad(lock.writeLock())).isTrue();
        }

        @Test
        void aWriterMayReadAndGoesOnAsAReader() {
            ReadWriteLock lock = lock();
            lock.writeLock().lock();
            assertThat(lock.readLock().tryLock()).isTrue();
            assertThat(reads(lock)).isEqualTo(1);
            assertThat(isToBeHad(lock.readLock())).isFalse();
            lock.writeLock().unlock();
            assertThat(writes(lock)).isZero();
            assertThat(isToBeHad(lock.readLock())).isTrue();
            assertThat(isToBeHad(lock.writeLock())).isFalse();
            lock.readLock().unlock();
            assertThat(isToBeHad(lock.writeLock())).isTrue();
        }

        @Test
        void aWriterThatReadsMayEndTheReadFirst() {
            ReadWriteLock lock = lock();
            lock.writeLock().lock();
            lock.readLock().lock();
            lock.readLock().unlock();
            assertThat(writes(lock)).isEqualTo(1);
            assertThat(isToBeHad(lock.readLock())).isFalse();
            lock.writeLock().unlock();
            assertThat(isToBeHad(lock.writeLock())).isTrue();
        }

        @Test
        void aWriterThatGoesOnAsAReaderLetsReadersIn() {
            ReadWriteLock lock = lock();
            lock.writeLock().lock();
            List<Background<Boolean>> readers = List.of(reader(lock), reader(lock), reader(lock));
            readers.forEach(Background::waits);
            lock.readLock().lock();
            lock.writeLock().unlock();
            readers.forEach(reader -> assertThat(reader.get()).isTrue());
            lock.readLock().unlock();
        }

        private static Background<Boolean> reader(ReadWriteLock lock) {
            return Background.run(() -> {
                lock.readLock().lock();
                lock.readLock().unlock();
                return true;
            });
        }

        @Test
        void readersThatWaitGetInTogether() {
            ReadWriteLock lock = lock();
            CountDownLatch inside = new CountDownLatch(3);
            lock.writeLock().lock();
            List<Background<Boolean>> readers = List.of(1, 2, 3).stream()
                    .map(number -> Background.run(() -> {
                                lock.readLock().lock();
                                inside.countDown();
                                boolean together = inside.await(10, TimeUnit.SECONDS);
                                lock.readLock().unlock();
                                return together;
                            })
                            .waits())
                    .toList();
            lock.writeLock().unlock();
            readers.forEach(reader -> assertThat(reader.get()).isTrue());
        }

        @Test
        void aReaderDoesNotOvertakeAWriterThatWaits() throws Exception {
            ReadWriteLock lock = lock();
            lock.readLock().lock();
            Background<Boolean> writer = Background.run(() -> {
                        lock.writeLock().lock();
                        lock.writeLock().unlock();
                        return true;
                    })
                    .waits();
            untilSomebodyIsQueued(lock);
            assertThat(Background.run(() -> lock.readLock().tryLock(50, TimeUnit.MILLISECONDS))
                            .get())
                    .isFalse();
            assertThat(lock.readLock().tryLock(0, TimeUnit.SECONDS))
                    .as("but who reads already may")
                    .isTrue();
            lock.readLock().unlock();
            assertThat(writer.isDone()).isFalse();
            lock.readLock().unlock();
            assertThat(writer.get()).isTrue();
        }

        @Test
        void nobodyElseReleases() {
            ReadWriteLock lock = lock();
            for (Lock side : new Lock[] {lock.readLock(), lock.writeLock()}) {
                assertThatThrownBy(side::unlock).isInstanceOf(IllegalMonitorStateException.class);
                side.lock();
                Background<?> other = Background.run(() -> {
                    side.unlock();
                    return null;
                });
                assertThat(other.thrown()).isInstanceOf(IllegalMonitorStateException.class);
                assertThat(reads(lock) + writes(lock)).isEqualTo(1);
                side.unlock();
                assertThatThrownBy(side::unlock).isInstanceOf(IllegalMonitorStateException.class);
            }
        }

        @Test
        void theReadSideHasNoConditions() {
            assertThatThrownBy(() -> lock().readLock().newCondition())
                    .isInstanceOf(UnsupportedOperationException.class);
        }

        @Test
        void zeroOrLessDoesNotWait() throws Exception {
            ReadWriteLock lock = lock();
            lock.writeLock().lock();
            for (Lock side : new Lock[] {lock.readLock(), lock.writeLock()}) {
                for (long time : new long[] {0, -1, Long.MIN_VALUE}) {
                    Stopwatch watch = Stopwatch.start();
                    assertThat(Background.run(() -> side.tryLock(time, TimeUnit.SECONDS))
                                    .get())
                            .isFalse();
                    assertThat(watch.unhindered()).isLessThan(1000);
                }
            }
            lock.writeLock().unlock();
            assertThat(lock.readLock().tryLock(-1, TimeUnit.NANOSECONDS)).isTrue();
            lock.readLock().unlock();
        }

        @Test
        void aTimedTryWaitsThatLong() {
            ReadWriteLock lock = lock();
            lock.writeLock().lock();
            for (Lock side : new Lock[] {lock.readLock(), lock.writeLock()}) {
                Stopwatch watch = Stopwatch.start();
                assertThat(Background.run(() -> side.tryLock(150, TimeUnit.MILLISECONDS))
                                .get())
                        .isFalse();
                assertThat(watch.elapsed()).isGreaterThanOrEqualTo(150);
                // Nothing else would end it; a second is for a busy machine.
                assertThat(watch.unhindered()).isLessThan(1150);
            }
            lock.writeLock().unlock();
        }

        @Test
        void anInterruptEndsTheWaitsThatSaySo() {
            ReadWriteLock lock = lock();
            lock.writeLock().lock();
            for (Lock side : new Lock[] {lock.readLock(), lock.writeLock()}) {
                Background<?> interruptibly = Background.run(() -> {
                            side.lockInterruptibly();
                            return null;
                        })
                        .waits();
                Background<?> timed = Background.run(() -> side.tryLock(1, TimeUnit.HOURS));
                for (Background<?> waiter : new Background<?>[] {interruptibly, timed}) {
                    waiter.thread().interrupt();
                    assertThat(waiter.thrown()).isInstanceOf(InterruptedException.class);
                    assertThat(waiter.thread().isInterrupted()).isFalse();
                }
            }
            lock.writeLock().unlock();
            assertThat(isToBeHad(lock.writeLock())).isTrue();
        }

        @Test
        void anInterruptBeforehandEndsThemAtOnce() {
            ReadWriteLock lock = lock();
            for (Lock side : new Lock[] {lock.readLock(), lock.writeLock()}) {
                Background<?> interruptibly = Background.run(() -> {
                    Thread.currentThread().interrupt();
                    side.lockInterruptibly();
                    return null;
                });
                assertThat(interruptibly.thrown()).isInstanceOf(InterruptedException.class);
                Background<?> timed = Background.run(() -> {
                    Thread.currentThread().interrupt();
                    return side.tryLock(1, TimeUnit.HOURS);
                });
                assertThat(timed.thrown()).isInstanceOf(InterruptedException.class);
            }
            assertThat(isToBeHad(lock.writeLock())).isTrue();
        }

        @Test
        void lockWaitsOnAndKeepsTheInterruptForLater() {
            ReadWriteLock lock = lock();
            for (Lock side : new Lock[] {lock.readLock(), lock.writeLock()}) {
                lock.writeLock().lock();
                Background<Boolean> waiter = Background.run(() -> {
                            side.lock();
                            boolean kept = Thread.currentThread().isInterrupted();
                            side.unlock();
                            return kept && Thread.interrupted();
                        })
                        .waits();
                waiter.thread().interrupt();
                waiter.waits();
                assertThat(waiter.isDone()).isFalse();
                lock.writeLock().unlock();
                assertThat(waiter.get()).isTrue();
            }
        }

        @Test
        void nestedAThousandDeep() {
            ReadWriteLock lock = lock();
            for (int level = 0; level < 1000; level++) {
                lock.writeLock().lock();
                lock.readLock().lock();
            }
            assertThat(writes(lock)).isEqualTo(1000);
            for (int level = 0; level < 1000; level++) {
                lock.writeLock().unlock();
            }
            assertThat(reads(lock)).isEqualTo(1000);
            for (int level = 0; level < 1000; level++) {
                lock.readLock().unlock();
            }
            assertThat(isToBeHad(lock.writeLock())).isTrue();
        }
    }

    @Nested
    class OfTheJdk extends Rules {
        @Override
        ReadWriteLock lock() {
            return new ReentrantReadWriteLock(true);
        }

        @Override
        int reads(ReadWriteLock lock) {
            return ((ReentrantReadWriteLock) lock).getReadHoldCount();
        }

        @Override
        int writes(ReadWriteLock lock) {
            return ((ReentrantReadWriteLock) lock).getWriteHoldCount();
        }
    }

    /** Ours, whatever the server. */
    abstract static class OursIsTheSame extends Rules {
        @Override
        int reads(ReadWriteLock lock) {
            return ((DistributedReadWriteLock) lock).readLock().getHoldCount();
        }

        @Override
        int writes(ReadWriteLock lock) {
            return ((DistributedReadWriteLock) lock).writeLock().getHoldCount();
        }

        @Override
        void untilSomebodyIsQueued(ReadWriteLock lock) {
            DistributedReadWriteLock ours = (DistributedReadWriteLock) lock;
            Eventually.holds("somebody is queued", () -> ours.inspect().queued() > 0);
        }
    }

    @Nested
    class OfDistributedReadWriteLock extends OursIsTheSame {
        @Override
        ReadWriteLock lock() {
            return connect().rwLock(name);
        }
    }

    @Nested
    class OfDistributedReadWriteLockInMemory extends OursIsTheSame {
        @Override
        ReadWriteLock lock() {
            return closing(Dlock.connect("memory://")).rwLock(name);
        }
    }
}
