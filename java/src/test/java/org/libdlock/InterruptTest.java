package org.libdlock;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.libdlock.support.Background;
import org.libdlock.support.Eventually;
import org.libdlock.support.Stopwatch;

/** Interrupts of platform threads, which wait in native code: with a connection for the thread's own round trip, and without. */
@Timeout(60)
class InterruptTest extends WithServer {
    private static final int ROUNDS = 300;

    private Client waiting(int connections) {
        return connect(Options.defaults().blockingConnections(connections));
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 4})
    void anInterruptEndsAWaitAtOnceAndLeavesNothing(int connections) {
        Client holder = connect();
        holder.lock(name).lock();
        Client client = waiting(connections);
        DistributedLock lock = client.lock(name);
        for (boolean timed : new boolean[] {false, true}) {
            Background<Boolean> waiter = Background.run(() -> {
                if (timed) {
                    return lock.tryLock(1, TimeUnit.HOURS);
                }
                lock.lockInterruptibly();
                return true;
            });
            Eventually.holds("it waits", () -> holder.lock(name).inspect().queued() == 1);
            Stopwatch watch = Stopwatch.start();
            waiter.thread().interrupt();
            assertThat(waiter.thrown()).isInstanceOf(InterruptedException.class);
            // It takes microseconds, and without the interrupt an hour; a second is for a busy machine.
            assertThat(watch.unhindered()).isLessThan(1000);
            Eventually.holds(
                    "its place is gone", () -> holder.lock(name).inspect().queued() == 0);
            assertThat(client.stats().lock().waiting()).isZero();
        }
        holder.lock(name).unlock();
        assertThat(lock.tryLock()).isTrue();
        lock.unlock();
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 4})
    void anInterruptEndsAWaitForPermitsAtOnce(int connections) throws Exception {
        DistributedSemaphore taken = connect().semaphore(name, 2);
        taken.acquire();
        Client client = waiting(connections);
        DistributedSemaphore semaphore = client.semaphore(name, 2);
        for (boolean timed : new boolean[] {false, true}) {
            Background<Boolean> waiter = Background.run(() -> {
                if (timed) {
                    return semaphore.tryAcquire(2, 1, TimeUnit.HOURS);
                }
                semaphore.acquire(2);
                return true;
            });
            Eventually.holds("it waits", () -> taken.inspect().queued() == 1);
            Stopwatch watch = Stopwatch.start();
            waiter.thread().interrupt();
            assertThat(waiter.thrown()).isInstanceOf(InterruptedException.class);
            // It takes microseconds, and without the interrupt an hour; a second is for a busy machine.
            assertThat(watch.unhindered()).isLessThan(1000);
            Eventually.holds("its place is gone", () -> taken.inspect().queued() == 0);
            assertThat(client.stats().semaphore().waiting()).isZero();
        }
        assertThat(semaphore.tryAcquire()).isTrue();
        semaphore.release();
    }

    /** An interrupt and the release, as near to each other as it gets. */
    @ParameterizedTest
    @ValueSource(ints = {0, 4})
    void anInterruptThatMeetsTheGrantIsNotLostAndLeavesNothing(int connections) throws Exception {
        Client client = waiting(connections);
        DistributedLock lock = client.lock(name);
        int granted = 0;
        for (int round = 0; round < ROUNDS; round++) {
            lock.lock();
            Background<Boolean> waiter = Background.run(() -> {
                try {
                    lock.lockInterruptibly();
                } catch (InterruptedException e) {
                    assertThat(Thread.currentThread().isInterrupted()).isFalse();
                    assertThat(lock.isHeldByCurrentThread()).isFalse();
                    return false;
                }
                // Kept for later, or still to come.
                while (!Thread.interrupted()) {
                    Thread.onSpinWait();
                }
                lock.unlock();
                return true;
            });
            Eventually.holds("it waits", () -> client.stats().lock().waiting() == 1);
            CountDownLatch go = new CountDownLatch(1);
            int later = round;
            Background<?> interrupting = Background.run(() -> {
                go.await();
                LockSupport.parkNanos(TimeUnit.MICROSECONDS.toNanos(later % 100));
                waiter.thread().interrupt();
                return null;
            });
            go.countDown();
            lock.unlock();
            interrupting.get();
            granted += waiter.get() ? 1 : 0;
            assertThat(lock.tryLock(5, TimeUnit.SECONDS)).isTrue();
            lock.unlock();
        }
        assertThat(client.stats().lock().acquired()).isEqualTo(2 * ROUNDS + granted);
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 4})
    void anInterruptThatMeetsTheGrantOfPermitsLeavesNothing(int connections) throws Exception {
        Client client = waiting(connections);
        DistributedSemaphore semaphore = client.semaphore(name, 2);
        int granted = 0;
        for (int round = 0; round < ROUNDS; round++) {
            semaphore.acquire(2);
            Background<Boolean> waiter = Background.run(() -> {
                try {
                    semaphore.acquire(2);
                } catch (InterruptedException e) {
                    assertThat(semaphore.getHoldCount()).isZero();
                    return false;
                }
                // Kept for later, or still to come.
                while (!Thread.interrupted()) {
                    Thread.onSpinWait();
                }
                semaphore.release(2);
                return true;
            });
            Eventually.holds("it waits", () -> client.stats().semaphore().waiting() == 1);
            int later = round;
            Background<?> interrupting = Background.run(() -> {
                LockSupport.parkNanos(TimeUnit.MICROSECONDS.toNanos(later % 100));
                waiter.thread().interrupt();
                return null;
            });
            semaphore.release(2);
            interrupting.get();
            granted += waiter.get() ? 1 : 0;
            assertThat(semaphore.tryAcquire(2, 5, TimeUnit.SECONDS)).isTrue();
            semaphore.release(2);
        }
        assertThat(client.stats().semaphore().acquired()).isEqualTo(2 * ROUNDS + granted);
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 4})
    void anInterruptThatMeetsTheGrantLosesNoPermit(int connections) throws Exception {
        Client client = waiting(connections);
        DistributedCountingSemaphore semaphore = client.countingSemaphore(name);
        for (int round = 0; round < ROUNDS; round++) {
            Background<Boolean> waiter = Background.run(() -> {
                try {
                    semaphore.acquire();
                } catch (InterruptedException e) {
                    return false;
                }
                // Kept for later, or still to come.
                while (!Thread.interrupted()) {
                    Thread.onSpinWait();
                }
                return true;
            });
            Eventually.holds(
                    "it waits", () -> client.stats().countingSemaphore().waiting() == 1);
            int later = round;
            Background<?> interrupting = Background.run(() -> {
                LockSupport.parkNanos(TimeUnit.MICROSECONDS.toNanos(later % 100));
                waiter.thread().interrupt();
                return null;
            });
            semaphore.release();
            interrupting.get();
            if (!waiter.get()) {
                assertThat(semaphore.tryAcquire(5, TimeUnit.SECONDS)).isTrue();
            }
        }
        assertThat(semaphore.availablePermits()).isZero();
        assertThat(client.stats().countingSemaphore().acquired()).isEqualTo(ROUNDS);
    }
}
