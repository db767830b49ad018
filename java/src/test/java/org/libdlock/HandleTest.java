package org.libdlock;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.junit.jupiter.api.Test;
import org.libdlock.support.Background;
import org.libdlock.support.Eventually;

/** Holds that belong to their object, got without a future. */
class HandleTest extends WithServer {
    @Test
    void aHandleIsReleasedByAnotherThread() throws Exception {
        DistributedLock lock = connect().lock(name);
        LockHandle handle = lock.acquire();
        assertThat(server.command("HKEYS", name).toString()).isEqualTo("[" + handle.owner() + "]");
        assertThat(lock.isHeldByCurrentThread()).as("no thread holds it").isFalse();
        assertThat(lock.tryLock()).isFalse();
        assertThat(lock.tryAcquire()).isNull();
        String owner = handle.owner();
        Background.run(() -> {
                    handle.release();
                    return null;
                })
                .get();
        assertThat(handle.owner()).isEqualTo(owner);
        assertThatThrownBy(handle::release).isInstanceOf(NotHeldException.class);
        assertThat(server.command("EXISTS", name)).isEqualTo(0L);
    }

    @Test
    void aThreadHoldsSeveralHandlesInTurn() throws Exception {
        DistributedLock lock = connect().lock(name);
        long first;
        try (LockHandle handle = lock.acquire(Duration.ofSeconds(1), Duration.ofSeconds(5))) {
            first = handle.token();
            assertThat(handle.remaining()).isLessThan(Duration.ofSeconds(5));
            assertThatThrownBy(() -> lock.acquire(Duration.ofMillis(300), null))
                    .isInstanceOf(AcquireTimeoutException.class);
        }
        try (LockHandle handle = lock.tryAcquire()) {
            assertThat(Objects.requireNonNull(handle).token()).isGreaterThan(first);
        }
        assertThat(lock.isLocked()).isFalse();
    }

    @Test
    void aWaitForAHandleThatIsOverNamesLockAndHolder() throws Exception {
        DistributedLock lock = connect().lock(name);
        LockHandle handle = lock.acquire();
        for (Duration wait : new Duration[] {Duration.ofMillis(300), Duration.ZERO, Duration.ofSeconds(-1)}) {
            assertThatThrownBy(() -> lock.acquire(wait, null))
                    .isInstanceOfSatisfying(AcquireTimeoutException.class, busy -> assertThat(busy.object())
                            .isEqualTo(name))
                    .hasMessageContaining("\"" + name + "\"")
                    .hasMessageContaining("token " + handle.token())
                    .hasMessageContaining("waited ");
            assertThat(lock.tryLock(wait, null)).isFalse();
        }
        handle.close();
    }

    @Test
    void closeWaitsForAReleaseThatIsUnderWay() throws Exception {
        DistributedLock lock = connect().lock(name);
        for (int i = 0; i < 200; i++) {
            LockHandle handle = lock.acquire();
            Background<Boolean> closing = Background.run(() -> {
                handle.close();
                return handle.isValid();
            });
            try {
                handle.release();
            } catch (NotHeldException closed) {
                assertThat(handle.isValid()).as("close was first").isFalse();
            }
            assertThat(closing.get()).isFalse();
        }
        LockHandle handle = lock.acquire();
        CompletableFuture<Void> released = handle.releaseAsync();
        handle.close();
        assertThat(released).succeedsWithin(Duration.ofSeconds(5));
        assertThat(lock.isLocked()).isFalse();
    }

    @Test
    void aReleasingCloseTellsTheHolder() throws Exception {
        Client client = connect();
        LockHandle handle = client.lock(name).acquire();
        CompletableFuture<LossReason> lost = handle.onLost();
        client.close(true);
        assertThat(lost).succeedsWithin(Duration.ofSeconds(5)).isEqualTo(LossReason.CLOSED);
        assertThatThrownBy(handle::close).isInstanceOf(ClosedException.class);
    }

    @Test
    void anInterruptEndsTheWaitForAHandle() throws Exception {
        DistributedLock lock = connect().lock(name);
        LockHandle handle = lock.acquire();
        Background<LockHandle> waiting = Background.run(lock::acquire).waits();
        waiting.thread().interrupt();
        assertThat(waiting.thrown()).isInstanceOf(InterruptedException.class);
        handle.close();
        assertThat(lock.isLocked()).isFalse();
    }

    @Test
    void aThreadThatEndsLeavesItsHandleHeld() throws Exception {
        DistributedLock lock =
                connect(Options.defaults().lease(Duration.ofSeconds(5))).lock(name);
        LockHandle handle = Background.run(lock::acquire).get();
        // Longer than the look for dead threads.
        awaitRenewals(handle::remaining);
        assertThat(handle.isValid()).isTrue();
        handle.close();
    }

    @Test
    void aGetThatTimesOutLeavesNoHold() throws Exception {
        Client client = connect();
        DistributedLock lock = client.lock(name);
        lock.lock();
        CompletableFuture<LockHandle> late = lock.lockAsync();
        assertThatThrownBy(() -> late.get(20, TimeUnit.MILLISECONDS)).isInstanceOf(TimeoutException.class);
        assertThat(late).isCancelled();
        lock.unlock();
        assertThat(lock.tryLock(5, TimeUnit.SECONDS))
                .as("nobody stands in front")
                .isTrue();
        lock.unlock();
        assertThat(client.stats().lock().held()).isZero();
    }

    /** The grant and the end of the wait come at the same time, again and again: either the caller has it, or nobody. */
    @Test
    void aGetEitherBringsTheHoldOrLeavesNone() throws Exception {
        Client client = connect();
        DistributedLock lock = client.lock(name);
        for (int i = 0; i < 200; i++) {
            try {
                lock.lockAsync().get(i * 10L, TimeUnit.MICROSECONDS).close();
            } catch (TimeoutException late) {
                assertThat(late).as("it was given up").isNotNull();
            }
        }
        Eventually.holds("nothing is held", () -> client.stats().lock().held() == 0 && !lock.isLocked());
    }

    @Test
    void aGetThatIsInterruptedLeavesNoHold() throws Exception {
        Client client = connect();
        DistributedLock lock = client.lock(name);
        lock.lock();
        CompletableFuture<LockHandle> future = lock.lockAsync();
        Background<LockHandle> getting = Background.run(future::get).waits();
        getting.thread().interrupt();
        assertThat(getting.thrown()).isInstanceOf(InterruptedException.class);
        assertThat(future).isCancelled();
        lock.unlock();
        Eventually.holds("nothing is held", () -> client.stats().lock().held() == 0 && !lock.isLocked());
    }

    @Test
    void theUninterruptibleLockWithALease() throws Exception {
        DistributedLock lock = connect().lock(name);
        LockHandle handle = lock.acquire();
        Background<Boolean> waiting = Background.run(() -> {
            lock.lock(5, TimeUnit.SECONDS);
            boolean interrupted = Thread.interrupted();
            assertThat(lock.remaining()).isLessThan(Duration.ofSeconds(5));
            lock.unlock();
            return interrupted;
        });
        waiting.waits();
        waiting.thread().interrupt();
        handle.close();
        assertThat(waiting.get()).as("the interrupt is kept").isTrue();
        lock.lock(-1, TimeUnit.SECONDS);
        assertThat(lock.remaining()).isGreaterThan(Duration.ofSeconds(20));
        lock.unlock();
    }

    /** What a container does with a bean: it finds the destroy method by its name and calls it, perhaps twice. */
    @Test
    void aBeansDestroyMethodClosesTheClient() throws Exception {
        Client client = Dlock.connect(server.url());
        DistributedLock lock = client.lock(name);
        lock.lock();
        Background<Boolean> waiting =
                Background.run(() -> lock.tryLock(20, TimeUnit.SECONDS)).waits();
        for (int i = 0; i < 2; i++) {
            Client.class.getMethod("close").invoke(client);
        }
        assertThat(waiting.thrown()).isInstanceOf(ClosedException.class);
        assertThat((Long) server.command("PTTL", name)).as("left to its lease").isPositive();
        assertThatThrownBy(lock::lock).isInstanceOf(ClosedException.class);
    }
}
