package org.libdlock;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Test;
import org.libdlock.support.Background;
import org.libdlock.support.Eventually;

/** What a semaphore of threads has beyond the JDK's: holds that end whole, that are their thread's own, and that can be lost. */
class SemaphoreTest extends WithServer {
    private static void refused(ThrowingCallable call, String allowed) {
        assertThatThrownBy(call)
                .isInstanceOfSatisfying(InvalidArgumentException.class, refused -> assertThat(refused.allowed())
                        .isEqualTo(allowed))
                .hasMessageContaining(allowed);
    }

    @Test
    void aReleaseOfAPartIsRefusedAndSaysWhatIsAllowed() throws Exception {
        DistributedSemaphore semaphore = connect().semaphore(name, 9);
        semaphore.acquire(3);
        semaphore.acquire(2);
        refused(semaphore::release, "2 or 5");
        refused(() -> semaphore.release(3), "2 or 5");
        refused(() -> semaphore.release(6), "2 or 5");
        refused(() -> semaphore.release(0), "1 to 2147483647");
        assertThat(List.of(semaphore.getHoldCount(), semaphore.availablePermits()))
                .as("nothing was released")
                .containsExactly(2, 4);
        semaphore.release(2);
        refused(semaphore::release, "3");
        semaphore.release(3);
        assertThatThrownBy(semaphore::release).isInstanceOf(NotHeldException.class);
        assertThatThrownBy(() -> semaphore.release(3)).isInstanceOf(IllegalMonitorStateException.class);
        assertThat(semaphore.availablePermits()).isEqualTo(9);
    }

    @Test
    void nobodyElseReleases() throws Exception {
        DistributedSemaphore semaphore = connect().semaphore(name, 2);
        semaphore.acquire();
        Background<?> other = Background.run(() -> {
            semaphore.release();
            return null;
        });
        assertThat(other.thrown()).isInstanceOf(NotHeldException.class);
        assertThat(semaphore.availablePermits()).isEqualTo(1);
        semaphore.release();
    }

    @Test
    void anotherObjectOfTheNameReleases() throws Exception {
        Client client = connect();
        client.semaphore(name, 2).acquire(2);
        assertThat(client.semaphore(name, 2).getHoldCount()).isEqualTo(1);
        client.semaphore(name, 2).release(2);
        assertThat(client.semaphore(name, 2).availablePermits()).isEqualTo(2);
    }

    @Test
    void theLatestHoldIsAskedAndExtended() throws Exception {
        DistributedSemaphore semaphore = connect().semaphore(name, 3);
        assertThat(semaphore.isValid()).isFalse();
        assertThat(semaphore.remaining()).isZero();
        assertThatThrownBy(semaphore::onLost)
                .isInstanceOf(NotHeldException.class)
                .hasMessageContaining("this thread holds no permits");
        assertThatThrownBy(() -> semaphore.extend(Duration.ofSeconds(1))).isInstanceOf(NotHeldException.class);
        semaphore.acquire();
        assertThat(semaphore.tryAcquire(1, 0, 5, TimeUnit.SECONDS)).isTrue();
        assertThat(semaphore.isValid()).isTrue();
        assertThat(semaphore.remaining()).isBetween(Duration.ofSeconds(3), Duration.ofSeconds(5));
        semaphore.extend(Duration.ofMinutes(2));
        assertThat(semaphore.remaining()).isGreaterThan(Duration.ofSeconds(100));
        semaphore.release();
        assertThat(semaphore.remaining())
                .as("the first one's")
                .isBetween(Duration.ofSeconds(20), Duration.ofSeconds(30));
        assertThat(semaphore.tryAcquire(1, Duration.ZERO, Duration.ofSeconds(5)))
                .isTrue();
        assertThat(semaphore.tryAcquire(1, 0, -1, TimeUnit.SECONDS)).isTrue();
        assertThat(semaphore.remaining()).as("the semaphore's own").isGreaterThan(Duration.ofSeconds(20));
        semaphore.release(3);
        assertThat(semaphore.getHoldCount()).isZero();
    }

    @Test
    void leasesAreThoseOfTheOptions() throws Exception {
        Client client = connect();
        SemaphoreOptions defaults = SemaphoreOptions.defaults();
        for (SemaphoreOptions options :
                List.of(defaults.lease(Duration.ofSeconds(5)), defaults.watchdogLease(Duration.ofSeconds(5)))) {
            DistributedSemaphore semaphore = client.semaphore(name, 3, options);
            semaphore.acquire();
            assertThat(semaphore.remaining()).isBetween(Duration.ofSeconds(3), Duration.ofSeconds(5));
            semaphore.release();
        }
        assertThatThrownBy(() -> client.semaphore(
                        name, 3, defaults.lease(Duration.ofSeconds(5)).watchdogLease(Duration.ofSeconds(5))))
                .isInstanceOf(InvalidArgumentException.class);
    }

    @Test
    void aLostHoldTakesItsOwnRelease() throws Exception {
        Client client = connect();
        DistributedSemaphore semaphore = client.semaphore(name, 3);
        semaphore.acquire();
        assertThat(semaphore.tryAcquire(2, 0, 200, TimeUnit.MILLISECONDS)).isTrue();
        assertThat(semaphore.onLost().get(5, TimeUnit.SECONDS)).isEqualTo(LossReason.EXPIRED);
        Eventually.holds("its time is over", () -> !semaphore.isValid());
        assertThat(semaphore.onLost().get(5, TimeUnit.SECONDS)).as("also later").isEqualTo(LossReason.EXPIRED);
        assertThatThrownBy(() -> semaphore.extend(Duration.ofSeconds(1))).isInstanceOf(NotHeldException.class);
        assertThat(semaphore.getHoldCount()).isEqualTo(1);
        refused(semaphore::release, "2 or 3");
        assertThatThrownBy(() -> semaphore.release(2))
                .isInstanceOf(NotHeldException.class)
                .hasMessageContaining("lease ran out");
        assertThat(semaphore.isValid()).as("the one before").isTrue();
        semaphore.release();
        assertThat(client.stats().semaphore().held()).isZero();
    }

    @Test
    void aReleaseOfSeveralEndsAllThoughOneWasLost() throws Exception {
        DistributedSemaphore semaphore = connect().semaphore(name, 6);
        semaphore.acquire();
        for (int permits = 1; permits <= 2; permits++) {
            assertThat(semaphore.tryAcquire(permits, 0, 200, TimeUnit.MILLISECONDS))
                    .isTrue();
        }
        Eventually.holds("both are lost", () -> semaphore.getHoldCount() == 1);
        assertThatThrownBy(() -> semaphore.release(4))
                .isInstanceOf(NotHeldException.class)
                .satisfies(lost ->
                        assertThat(lost.getSuppressed()).hasSize(1).hasOnlyElementsOfType(NotHeldException.class));
        assertThat(semaphore.getHoldCount()).isZero();
        assertThat(semaphore.availablePermits()).isEqualTo(6);
        assertThatThrownBy(semaphore::release).isInstanceOf(NotHeldException.class);
    }

    @Test
    void theNumberOfPermitsIsSet() throws Exception {
        DistributedSemaphore semaphore = connect().semaphore(name, 2);
        assertThat(semaphore.inspect()).isEqualTo(new SemaphoreInspection(OptionalLong.empty(), 0, 0));
        assertThat(semaphore.availablePermits())
                .as("the first acquire makes them")
                .isEqualTo(2);
        semaphore.acquire(2);
        semaphore.setPermits(1);
        assertThat(semaphore.availablePermits()).isEqualTo(-1);
        Background<Boolean> waiter = Background.run(() -> semaphore.tryAcquire(1, TimeUnit.HOURS));
        DistributedSemaphore other = connect().semaphore(name, 2);
        Eventually.holds("it waits", () -> other.inspect().queued() == 1);
        other.setPermits(3);
        assertThat(waiter.get()).as("raising the number wakes").isTrue();
        assertThat(semaphore.inspect()).isEqualTo(new SemaphoreInspection(OptionalLong.of(3), 0, 0));
    }

    @Test
    void numbersOutOfRangeAreRefusedBeforeAnyRequest() {
        Client client = connect();
        for (int permits : new int[] {0, -1, Integer.MIN_VALUE}) {
            refused(() -> client.semaphore(name, permits), "1 to 2147483647");
        }
        DistributedSemaphore semaphore = client.semaphore(name, Integer.MAX_VALUE);
        for (int permits : new int[] {0, -1, 10_001, Integer.MAX_VALUE}) {
            refused(() -> semaphore.acquire(permits), "1 to 10000");
            refused(() -> semaphore.tryAcquire(permits), "1 to 10000");
            refused(() -> semaphore.take(permits), "1 to 10000");
            refused(() -> semaphore.tryTake(permits), "1 to 10000");
            assertThat(semaphore.takeAsync(permits))
                    .failsWithin(Duration.ofSeconds(5))
                    .withThrowableThat()
                    .withCauseInstanceOf(InvalidArgumentException.class);
        }
        for (int permits : new int[] {0, -1}) {
            refused(() -> semaphore.setPermits(permits), "1 to 2147483647");
            refused(() -> semaphore.release(permits), "1 to 2147483647");
        }
        assertThat(server.command("EXISTS", name)).isEqualTo(0L);
        assertThat(semaphore.availablePermits()).isEqualTo(Integer.MAX_VALUE);
        DistributedSemaphore small = client.semaphore(name + "-small", 3);
        assertThatThrownBy(() -> small.acquire(4))
                .isInstanceOf(InvalidArgumentException.class)
                .hasMessageContaining("3");
        assertThatThrownBy(() -> client.semaphore("a{", 1)).isInstanceOf(InvalidNameException.class);
        assertThatThrownBy(() -> client.semaphore("\ud800", 1)).isInstanceOf(InvalidNameException.class);
    }

    @Test
    void aLockAndASemaphoreOfOneNameAreTwo() throws Exception {
        Client client = connect();
        DistributedSemaphore semaphore = client.semaphore(name, 1);
        semaphore.acquire();
        DistributedLock lock = client.lock(name);
        assertThatThrownBy(lock::tryLock).isInstanceOf(WrongTypeException.class);
        assertThat(lock.isHeldByCurrentThread()).isFalse();
        assertThat(List.of(
                        client.stats().semaphore().held(), client.stats().lock().held()))
                .containsExactly(1L, 0L);
        semaphore.release();
    }

    @Test
    void aClientCountsWhatItsSemaphoresDo() throws Exception {
        Client client = connect();
        DistributedSemaphore semaphore = client.semaphore(name, 3);
        semaphore.acquire(3);
        assertThat(semaphore.tryAcquire(2)).isFalse();
        Background<Boolean> waiter = Background.run(() -> {
            semaphore.acquire(2);
            semaphore.release(2);
            return true;
        });
        Eventually.holds("one waits", () -> client.stats().semaphore().waiting() == 1);
        semaphore.release(3);
        assertThat(waiter.get()).isTrue();
        SemaphoreStats stats = client.stats().semaphore();
        assertThat(List.of(stats.acquired(), stats.contended(), stats.released(), stats.waitTimeouts()))
                .containsExactly(2L, 1L, 2L, 1L);
        assertThat(List.of(stats.held(), stats.waiting(), stats.lost())).containsOnly(0L);
        assertThat(List.of(stats.waitTime().count(), stats.holdTime().count())).containsOnly(2L);
        assertThat(client.stats().lock().acquired()).isZero();
    }

    @Test
    void manyThreadsNeverHoldMoreThanThereAre() throws Exception {
        List<Client> clients = List.of(connect(), connect());
        AtomicInteger inside = new AtomicInteger();
        List<Background<Integer>> workers = new ArrayList<>();
        for (int i = 0; i < 16; i++) {
            DistributedSemaphore semaphore = clients.get(i % 2).semaphore(name, 5);
            int permits = 1 + i % 3;
            workers.add(Background.run(() -> {
                int most = 0;
                for (int turn = 0; turn < 50; turn++) {
                    semaphore.acquire(permits);
                    most = Math.max(most, inside.addAndGet(permits));
                    Thread.onSpinWait();
                    inside.addAndGet(-permits);
                    semaphore.release(permits);
                }
                return most;
            }));
        }
        int most = 0;
        for (Background<Integer> worker : workers) {
            most = Math.max(most, worker.get());
        }
        assertThat(most).isBetween(2, 5);
        assertThat(connect().semaphore(name, 5).inspect()).isEqualTo(new SemaphoreInspection(OptionalLong.of(5), 5, 0));
    }
}
