package org.libdlock;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.junit.jupiter.api.Test;
import org.libdlock.support.Background;
import org.libdlock.support.Eventually;
import org.libdlock.support.Uninterrupted;

/** Holds that belong to a handle, and the futures that bring them. */
class AsyncTest extends WithServer {
    private static <T> T soon(CompletableFuture<T> future) throws Exception {
        return future.get(5, TimeUnit.SECONDS);
    }

    @Test
    void aHandleHoldsWhateverThreadUsesIt() throws Exception {
        DistributedLock lock = connect().lock(name);
        LockHandle handle = soon(lock.lockAsync());
        assertThat(handle.isValid()).isTrue();
        assertThat(handle.token()).isPositive();
        assertThat(handle.lock()).isSameAs(lock);
        assertThat(handle.remaining()).isGreaterThan(Duration.ofSeconds(25));
        assertThat(server.command("HKEYS", name).toString()).isEqualTo("[" + handle.owner() + "]");
        assertThat(lock.isHeldByCurrentThread()).as("no thread holds it").isFalse();
        assertThatThrownBy(lock::unlock).isInstanceOf(NotHeldException.class);
        assertThat(lock.tryLock()).isFalse();
        Background.run(() -> {
                    handle.extend(Duration.ofSeconds(60));
                    handle.release();
                    return null;
                })
                .get();
        assertThat(handle.isValid()).isFalse();
        assertThat(handle.remaining()).isZero();
        assertThat(handle.getHoldCount()).isZero();
        assertThat(server.command("EXISTS", name)).isEqualTo(0L);
    }

    @Test
    void twoHandlesExcludeEachOther() throws Exception {
        DistributedLock lock = connect().lock(name);
        LockHandle first = soon(lock.lockAsync());
        CompletableFuture<LockHandle> second = lock.lockAsync();
        assertThat(soon(lock.tryLockAsync())).isNull();
        assertThatThrownBy(() -> soon(lock.lockAsync(Duration.ofMillis(50), null)))
                .hasCauseInstanceOf(AcquireTimeoutException.class);
        assertThat(second).isNotDone();
        soon(first.releaseAsync());
        assertThat(soon(second).token()).isGreaterThan(first.token());
        second.get().close();
        try (LockHandle third = soon(lock.tryLockAsync())) {
            assertThat(third.isValid()).isTrue();
        }
    }

    @Test
    void aHandleIsReenteredAndReleasedAsOften() throws Exception {
        DistributedLock lock = connect().lock(name);
        LockHandle handle = soon(lock.lockAsync());
        handle.reenter();
        assertThat(handle.getHoldCount()).isEqualTo(2);
        assertThatThrownBy(handle::detach).isInstanceOf(InvalidArgumentException.class);
        handle.release();
        assertThat(handle.isValid()).isTrue();
        handle.release();
        assertThatThrownBy(handle::release).isInstanceOf(NotHeldException.class);
        assertThatThrownBy(handle::reenter).isInstanceOf(NotHeldException.class);
        assertThatThrownBy(handle::detach).isInstanceOf(NotHeldException.class);
        assertThatThrownBy(() -> handle.extend(Duration.ofSeconds(1))).isInstanceOf(NotHeldException.class);
        assertThatThrownBy(() -> soon(handle.releaseAsync())).hasCauseInstanceOf(NotHeldException.class);
        handle.close();
        LockHandle strict = soon(
                connect().lock(name, LockOptions.defaults().reentrant(false)).lockAsync());
        assertThatThrownBy(strict::reenter).isInstanceOf(DeadlockException.class);
        strict.close();
        strict.close();
    }

    @Test
    void theEndOfAScopeReleasesEveryLevel() throws Exception {
        DistributedLock lock = connect().lock(name);
        try (LockHandle handle = soon(lock.lockAsync())) {
            handle.reenter();
            handle.reenter();
        }
        assertThat(lock.isLocked()).isFalse();
    }

    @Test
    void aFutureCompletedBehindItsBackGivesTheHoldBack() throws Exception {
        DistributedLock lock = connect().lock(name);
        lock.lock();
        CompletableFuture<LockHandle> waiting = lock.lockAsync();
        waiting.obtrudeValue(null);
        lock.unlock();
        assertThat(Background.run(() -> lock.tryLock(5, TimeUnit.SECONDS)).get())
                .isTrue();
    }

    @Test
    void manyThreadsMayUseOneHandleToItsEnd() throws Exception {
        for (int round = 0; round < 50; round++) {
            LockHandle handle = soon(connect(Options.defaults()).lock(name).lockAsync());
            List<Background<Boolean>> threads = new ArrayList<>();
            for (int i = 0; i < 4; i++) {
                threads.add(Background.run(() -> {
                    handle.isValid();
                    handle.remaining();
                    handle.onLost();
                    try {
                        handle.release();
                        return true;
                    } catch (NotHeldException another) {
                        return false;
                    }
                }));
            }
            assertThat(threads.stream().filter(Background::get).count()).isEqualTo(1);
        }
    }

    @Test
    void detachAndAttachHandOver() throws Exception {
        DistributedLock lock = connect().lock(name);
        LockHandle handle = soon(lock.lockAsync());
        String text = handle.detach();
        handle.close();
        assertThat(handle.isValid()).isFalse();
        LockHandle attached = soon(connect().lock(name).attachAsync(text));
        assertThat(attached.token()).isEqualTo(handle.token());
        attached.close();
        assertThatThrownBy(() -> soon(lock.attachAsync(text))).hasCauseInstanceOf(NotHeldException.class);
        assertThatThrownBy(() -> soon(lock.attachAsync("\ud800"))).hasCauseInstanceOf(InvalidArgumentException.class);
    }

    @Test
    void cancellingAFutureLeavesNothingBehind() throws Exception {
        DistributedLock lock = connect().lock(name);
        LockHandle holder = soon(lock.lockAsync());
        CompletableFuture<LockHandle> waiting = lock.lockAsync();
        assertThat(waiting.cancel(true)).isTrue();
        assertThat(waiting.isCancelled()).isTrue();
        assertThatThrownBy(waiting::join).isInstanceOf(CancellationException.class);
        // Newer JDKs' join throws a CancellationException of its own.
        assertThat(waiting.handle((held, error) -> error).get()).isInstanceOf(CancelledException.class);
        assertThat(waiting.cancel(true)).isTrue();
        holder.release();
        assertThat(lock.tryLock()).as("nobody stands in line").isTrue();
        lock.unlock();
        assertThat(soon(lock.lockAsync()).lock().isLocked()).isTrue();
    }

    @Test
    void aFutureThatTimesOutCancelsToo() throws Exception {
        DistributedLock lock = connect().lock(name);
        LockHandle holder = soon(lock.lockAsync());
        CompletableFuture<LockHandle> waiting = lock.lockAsync().orTimeout(50, TimeUnit.MILLISECONDS);
        assertThatThrownBy(() -> soon(waiting))
                .isInstanceOf(ExecutionException.class)
                .hasCauseInstanceOf(TimeoutException.class);
        holder.release();
        assertThat(lock.tryLock()).isTrue();
        lock.unlock();
    }

    /** Cancelled at every moment between request and reply. */
    @Test
    void tenThousandCancelledAtAnyMomentLeaveNoKey() throws Exception {
        Client client = connect();
        List<DistributedLock> locks = new ArrayList<>();
        for (int i = 0; i < 20; i++) {
            locks.add(client.lock(name + "-" + i));
        }
        for (int round = 0; round < 100; round++) {
            List<CompletableFuture<LockHandle>> futures = new ArrayList<>();
            for (int i = 0; i < 100; i++) {
                futures.add(locks.get(i % 20).lockAsync());
            }
            for (int i = 0; i < 100; i++) {
                if (i % 10 == 0) {
                    Thread.onSpinWait();
                }
                futures.get(i).cancel(true);
                futures.get(i).thenAccept(LockHandle::close);
            }
        }
        for (int i = 0; i < 20; i++) {
            String key = name + "-" + i;
            Eventually.holds(
                    "no key is left", () -> server.command("EXISTS", key).equals(0L));
            assertThat(locks.get(i).tryLock(5, TimeUnit.SECONDS)).isTrue();
            locks.get(i).unlock();
        }
    }

    @Test
    void aCallbackThatBlocksForEverDoesNotStopOthers() throws Exception {
        Client client = connect();
        CountDownLatch never = new CountDownLatch(1);
        try {
            DistributedLock blocked = client.lock(name + "-blocked");
            blocked.lock();
            CountDownLatch entered = new CountDownLatch(3);
            for (int i = 0; i < 3; i++) {
                blocked.lockAsync().thenAccept(handle -> {
                    handle.release();
                    entered.countDown();
                    Uninterrupted.run(() -> never.await(1, TimeUnit.HOURS));
                });
            }
            blocked.unlock();
            assertThat(entered.await(5, TimeUnit.SECONDS)).isTrue();
            for (int i = 0; i < 100; i++) {
                soon(client.lock(name).lockAsync()).release();
            }
            // Nor does one that waits for the library itself.
            CompletableFuture<Boolean> nested = client.lock(name).lockAsync().thenApply(handle -> {
                boolean other = client.lock(name + "-other").tryLock();
                handle.release();
                return other;
            });
            assertThat(soon(nested)).isTrue();
            client.lock(name).lock();
            client.lock(name).unlock();
        } finally {
            never.countDown();
        }
    }

    @Test
    void aBurstNeedsNoCrowdOfThreads() throws Exception {
        Client client = connect();
        List<CompletableFuture<?>> futures = new ArrayList<>();
        for (int i = 0; i < 1000; i++) {
            futures.add(client.lock(name + "-" + i).lockAsync().thenCompose(LockHandle::releaseAsync));
        }
        soon(CompletableFuture.allOf(futures.toArray(new CompletableFuture<?>[0])));
        long threads = Thread.getAllStackTraces().keySet().stream()
                .filter(thread -> thread.getName().equals("libdlock-callbacks"))
                .count();
        assertThat(threads).isLessThanOrEqualTo(10);
    }

    @Test
    void aHandleLostSaysSo() throws Exception {
        LockHandle handle = soon(connect().lock(name).lockAsync(null, Duration.ofMillis(200)));
        CompletableFuture<LossReason> lost = handle.onLost();
        assertThat(soon(lost)).isEqualTo(LossReason.EXPIRED);
        assertThat(handle.remaining()).as("told a little before the end").isLessThan(Duration.ofMillis(50));
        assertThatThrownBy(handle::close).isInstanceOf(IllegalMonitorStateException.class);
        assertThat(handle.isValid()).isFalse();
        assertThat(soon(handle.onLost())).as("also after the end").isEqualTo(LossReason.EXPIRED);
        LockHandle released = soon(connect().lock(name).lockAsync());
        released.close();
        assertThat(released.onLost()).isCancelled();
    }
}
