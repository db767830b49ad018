package org.libdlock.integration;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import java.util.ArrayList;
import java.util.ConcurrentModificationException;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.Lock;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.libdlock.LockLostException;
import org.libdlock.support.Eventually;
import org.springframework.integration.support.locks.DistributedLock;
import org.springframework.scheduling.concurrent.SimpleAsyncTaskScheduler;

/** What Spring Integration's own tests ask of its registry for Redis, RedisLockRegistryTests of its version 7. */
class ContractTest extends WithRegistry {
    @Test
    void aLockIsTakenAndForgotten() {
        LibdlockLockRegistry registry = registry();
        for (int i = 0; i < 10; i++) {
            Lock lock = registry.obtain("foo");
            lock.lock();
            try {
                assertThat(registry.size()).isEqualTo(1);
            } finally {
                lock.unlock();
            }
        }
        registry.expireUnusedOlderThan(-1000);
        assertThat(registry.size()).isZero();
    }

    @Test
    void aHeldLockIsNotForgotten() {
        LibdlockLockRegistry registry = registry();
        Lock lock = registry.obtain("foo");
        lock.lock();
        registry.expireUnusedOlderThan(-1000);
        assertThat(registry.obtain("foo")).isSameAs(lock);
        lock.unlock();
        registry.expireUnusedOlderThan(60_000);
        assertThat(registry.size()).as("used a moment ago").isEqualTo(1);
    }

    @Test
    void aForgottenLockGoesOnToWork() throws Exception {
        LibdlockLockRegistry registry = registry();
        Lock old = registry.obtain("foo");
        registry.expireUnusedOlderThan(-1000);
        Lock fresh = registry.obtain("foo");
        assertThat(fresh).isNotSameAs(old);
        old.lock();
        assertThat(triedElsewhere(fresh)).isFalse();
        old.unlock();
    }

    @Test
    void aTimeToLiveOfItsOwnOutlastsTheRegistrys() throws Exception {
        LibdlockLockRegistry registry = registry(Duration.ofMillis(100));
        for (int i = 0; i < 3; i++) {
            DistributedLock lock = registry.obtain("foo");
            lock.lock(Duration.ofMillis(500));
            Thread.sleep(200);
            lock.unlock();
            assertThat(lock.tryLock(Duration.ofMillis(100), Duration.ofMillis(500)))
                    .isTrue();
            Thread.sleep(200);
            lock.unlock();
        }
    }

    @Test
    void unlockingAfterTheExpiryTellsOfIt() throws Exception {
        Lock lock = registry(Duration.ofMillis(100)).obtain("foo");
        lock.lock();
        Thread.sleep(200);
        assertThatThrownBy(lock::unlock).isInstanceOf(ConcurrentModificationException.class);
        lock.lock();
        lock.unlock();
    }

    @Test
    void aThreadThatWasNotToldYetIsToldByItsNextAcquire() throws Exception {
        LibdlockLockRegistry registry = registry(Duration.ofMillis(100));
        Lock lock = registry.obtain("foo");
        lock.lock();
        Thread.sleep(200);
        assertThatThrownBy(lock::tryLock).isInstanceOf(LockLostException.class);
        registry.expireUnusedOlderThan(-1000);
        assertThat(registry.size()).as("it holds nothing").isZero();
        assertThatThrownBy(lock::unlock).isInstanceOf(IllegalMonitorStateException.class);
        assertThat(lock.tryLock()).isTrue();
        lock.unlock();
    }

    @Test
    void lockInterruptiblyTakesIt() throws Exception {
        LibdlockLockRegistry registry = registry();
        for (int i = 0; i < 10; i++) {
            Lock lock = registry.obtain("foo");
            lock.lockInterruptibly();
            lock.unlock();
        }
    }

    @Test
    void anInterruptEndsLockInterruptibly() throws Exception {
        LibdlockLockRegistry registry = registry();
        Lock lock = registry.obtain("foo");
        lock.lock();
        CompletableFuture<Thread> waiter = new CompletableFuture<>();
        CompletableFuture<Boolean> waits = elsewhere(() -> {
            waiter.complete(Thread.currentThread());
            registry.obtain("foo").lockInterruptibly();
            return true;
        });
        soon(waiter).interrupt();
        assertThatThrownBy(() -> soon(waits)).isInstanceOf(InterruptedException.class);
        lock.unlock();
        assertThat(triedElsewhere(registry.obtain("foo"))).isTrue();
    }

    @Test
    void aThreadMayEnterAgain() throws Exception {
        LibdlockLockRegistry registry = registry();
        Lock lock = registry.obtain("foo");
        lock.lock();
        assertThat(registry.obtain("foo")).isSameAs(lock);
        lock.lockInterruptibly();
        lock.unlock();
        assertThat(triedElsewhere(lock)).as("one level is left").isFalse();
        lock.unlock();
        assertThat(triedElsewhere(lock)).isTrue();
    }

    @Test
    void twoKeysAreTwoLocks() throws Exception {
        LibdlockLockRegistry registry = registry();
        Lock foo = registry.obtain("foo");
        Lock bar = registry.obtain("bar");
        assertThat(bar).isNotSameAs(foo);
        foo.lock();
        assertThat(triedElsewhere(bar)).isTrue();
        foo.unlock();
    }

    @Test
    void aSecondThreadFailsToGetItInTime() throws Exception {
        LibdlockLockRegistry registry = registry();
        Lock lock = registry.obtain("foo");
        lock.lock();
        boolean got = soon(elsewhere(() -> registry.obtain("foo").tryLock(200, TimeUnit.MILLISECONDS)));
        assertThat(got).isFalse();
        lock.unlock();
    }

    @Test
    void aSecondThreadGetsItAfterTheFirst() throws Exception {
        secondGetsItAfterFirst(registry().obtain("foo"), null);
    }

    @Test
    void aSecondProcessGetsItAfterTheFirst() throws Exception {
        secondGetsItAfterFirst(registry().obtain("foo"), registry().obtain("foo"));
    }

    private static void secondGetsItAfterFirst(Lock first, @Nullable Lock other) throws Exception {
        Lock second = other == null ? first : other;
        first.lock();
        CountDownLatch started = new CountDownLatch(1);
        CompletableFuture<Boolean> got = elsewhere(() -> {
            started.countDown();
            second.lockInterruptibly();
            second.unlock();
            return true;
        });
        assertThat(started.await(10, TimeUnit.SECONDS)).isTrue();
        Thread.sleep(50);
        assertThat(got).isNotDone();
        first.unlock();
        assertThat(soon(got)).isEqualTo(true);
    }

    @Test
    void anotherThreadCannotUnlock() throws Exception {
        Lock lock = registry().obtain("foo");
        lock.lock();
        assertThatThrownBy(() -> soon(elsewhere(() -> {
                    lock.unlock();
                    return true;
                })))
                .isInstanceOf(IllegalMonitorStateException.class)
                .hasMessageContaining("not held by this holder");
        lock.unlock();
    }

    @Test
    void anExpiredLockGoesToAnotherProcess() throws Exception {
        Lock first = registry(Duration.ofMillis(100)).obtain("foo");
        Lock second = registry(Duration.ofSeconds(10)).obtain("foo");
        assertThat(first.tryLock()).isTrue();
        assertThat(second.tryLock()).isFalse();
        Eventually.holds("it expires", second::tryLock);
        assertThatThrownBy(first::unlock)
                .isInstanceOf(ConcurrentModificationException.class)
                .hasMessageContaining(key + ":foo");
        assertThat(first.tryLock()).isFalse();
        second.unlock();
    }

    @Test
    void aLockIsRenewedWhereASchedulerWasSet() throws Exception {
        LibdlockLockRegistry registry = registry(Duration.ofMillis(300));
        registry.setRenewalTaskScheduler(new SimpleAsyncTaskScheduler());
        Lock lock = registry.obtain("foo");
        assertThat(lock.tryLock()).isTrue();
        Thread.sleep(600);
        lock.unlock();
    }

    @Test
    void renewLockProlongsTheHoldOfThisThread() throws Exception {
        LibdlockLockRegistry registry = registry(Duration.ofMillis(400));
        Lock lock = registry.obtain("foo");
        lock.lock();
        registry.renewLock("foo", Duration.ofSeconds(10));
        Thread.sleep(500);
        registry.renewLock("foo");
        assertThatThrownBy(() -> soon(elsewhere(() -> {
                    registry.renewLock("foo");
                    return true;
                })))
                .isInstanceOf(IllegalStateException.class);
        lock.unlock();
        assertThatThrownBy(() -> registry.renewLock("foo")).isInstanceOf(IllegalStateException.class);
    }

    @Test
    void renewLockOfARenewedLockAsksForIt() {
        LibdlockLockRegistry registry = registry();
        registry.obtain("foo").lock();
        registry.renewLock("foo");
        registry.obtain("foo").unlock();
    }

    @Test
    void aRefusedAttemptDoesNotProlong() throws Exception {
        LibdlockLockRegistry registry = registry(Duration.ofMillis(600));
        Lock lock = registry.obtain("foo");
        lock.lock();
        Thread.sleep(300);
        assertThat(triedElsewhere(lock)).isFalse();
        Lock other = registry().obtain("foo");
        assertThat(other.tryLock(450, TimeUnit.MILLISECONDS)).isTrue();
        other.unlock();
    }

    @Test
    void registriesOfOtherKeysOrClientsAreApart() {
        Lock lock = registry().obtain("foo");
        Lock otherProcess = registry().obtain("foo");
        Lock otherKey = new LibdlockLockRegistry(connect(), key + "-2").obtain("foo");
        assertThat(otherProcess).isNotEqualTo(lock);
        lock.lock();
        assertThat(otherProcess.tryLock()).isFalse();
        assertThat(otherKey.tryLock()).isTrue();
        otherKey.unlock();
        lock.unlock();
    }

    @Test
    void theCapacityForgetsWhatWasUsedTheLongestAgo() {
        LibdlockLockRegistry registry = registry();
        registry.setCacheCapacity(3);
        Lock first = registry.obtain("foo:1");
        Lock second = registry.obtain("foo:2");
        second.lock();
        registry.obtain("foo:3");
        assertThat(registry.obtain("foo:1")).isSameAs(first);
        registry.obtain("foo:4");
        assertThat(registry.size()).isEqualTo(3);
        assertThat(registry.obtain("foo:2")).as("held").isSameAs(second);
        assertThat(registry.obtain("foo:1")).isSameAs(first);
        second.unlock();
    }

    @Test
    void manyThreadsObtainBeyondTheCapacity() throws Exception {
        LibdlockLockRegistry registry = registry();
        registry.setCacheCapacity(20);
        List<CompletableFuture<Boolean>> threads = new ArrayList<>();
        for (int thread = 0; thread < 4; thread++) {
            int start = 25 * thread;
            threads.add(elsewhere(() -> {
                for (int i = start; i < start + 25; i++) {
                    Lock lock = registry.obtain("foo:" + i);
                    lock.lock();
                    lock.unlock();
                }
                return true;
            }));
        }
        for (CompletableFuture<Boolean> thread : threads) {
            assertThat(soon(thread)).isEqualTo(true);
        }
        assertThat(registry.size()).isEqualTo(20);
        registry.expireUnusedOlderThan(-1000);
        assertThat(registry.size()).isZero();
    }

    @Test
    void tenRegistriesTakeTurns() throws Exception {
        AtomicInteger inside = new AtomicInteger();
        List<CompletableFuture<Integer>> all = new ArrayList<>();
        for (int i = 0; i < 10; i++) {
            Lock lock = registry().obtain("foo");
            all.add(elsewhere(() -> {
                int most = 0;
                for (int turn = 0; turn < 3; turn++) {
                    lock.lock();
                    most = Math.max(most, inside.incrementAndGet());
                    inside.decrementAndGet();
                    lock.unlock();
                }
                return most;
            }));
        }
        for (CompletableFuture<Integer> one : all) {
            assertThat(soon(one)).isEqualTo(Integer.valueOf(1));
        }
    }

    @Test
    void aReleaseWakesOneOfTwoProcesses() throws Exception {
        Lock first = registry().obtain("foo");
        Lock second = registry().obtain("foo");
        Lock third = registry().obtain("foo");
        first.lock();
        CompletableFuture<Boolean> one = elsewhere(() -> second.tryLock(10, TimeUnit.SECONDS));
        CompletableFuture<Boolean> two = elsewhere(() -> third.tryLock(10, TimeUnit.SECONDS));
        first.unlock();
        assertThat(CompletableFuture.anyOf(one, two).get(5, TimeUnit.SECONDS)).isEqualTo(true);
        Thread.sleep(300);
        assertThat(one.isDone() && two.isDone()).as("both have it").isFalse();
    }

    @Test
    void whatIsNoStringIsNoKey() {
        assertThatThrownBy(() -> registry().obtain(7))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("a key of the lock registry \"" + key + "\" must be a String, not java.lang.Integer");
    }
}
