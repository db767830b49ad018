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

/** Holds of a side that belong to their object. */
class RwLockHandleTest extends WithServer {
    @Test
    void aHandleIsReleasedByAnotherThread() throws Exception {
        DistributedReadWriteLock lock = connect().rwLock(name);
        RwLockHandle handle = lock.writeLock().acquire();
        assertThat(handle.side()).isSameAs(lock.writeLock());
        assertThat(handle.token()).isPositive();
        assertThat(handle.toString()).isEqualTo("RwLockHandle[" + name + ", write, token " + handle.token() + "]");
        assertThat(server.command("HKEYS", name).toString()).isEqualTo("[mode, " + handle.owner() + "]");
        assertThat(lock.writeLock().isHeldByCurrentThread())
                .as("no thread holds it")
                .isFalse();
        assertThat(lock.readLock().tryAcquire()).isNull();
        assertThat(lock.readLock().tryLock()).isFalse();
        Background.run(() -> {
                    handle.release();
                    return null;
                })
                .get();
        assertThatThrownBy(handle::release)
                .isInstanceOf(NotHeldException.class)
                .hasMessageContaining("this handle does not hold the write side any more");
        assertThat(server.command("EXISTS", name)).isEqualTo(0L);
    }

    @Test
    void aThreadHoldsSeveralReadersAtOnce() throws Exception {
        DistributedReadWriteLock lock = connect().rwLock(name);
        try (RwLockHandle first = lock.readLock().acquire();
                RwLockHandle second = lock.readLock().acquire(Duration.ofSeconds(1), Duration.ofSeconds(5));
                RwLockHandle third = Objects.requireNonNull(lock.readLock().tryAcquire())) {
            assertThat(second.remaining()).isLessThan(Duration.ofSeconds(5));
            assertThat(second.token())
                    .as("with a lease of its own, a hold of its own")
                    .isGreaterThan(first.token());
            assertThat(third.isValid()).isTrue();
            assertThatThrownBy(() -> lock.writeLock().acquire(Duration.ofMillis(300), null))
                    .isInstanceOf(AcquireTimeoutException.class)
                    .hasMessageContaining("\"" + name + "\"")
                    .hasMessageContaining("readers");
        }
        assertThat(lock.writeLock().tryLock()).isTrue();
        lock.writeLock().unlock();
    }

    @Test
    void aHandleIsEnteredAgainWithoutTheServer() throws Exception {
        DistributedReadWriteLock lock = connect().rwLock(name);
        RwLockHandle handle = lock.readLock().acquire();
        handle.reenter();
        assertThat(handle.getHoldCount()).isEqualTo(2);
        handle.release();
        assertThat(handle.isValid()).isTrue();
        handle.extend(Duration.ofSeconds(50));
        assertThat(handle.remaining()).isGreaterThan(Duration.ofSeconds(40));
        handle.close();
        assertThat(handle.getHoldCount()).isZero();
        assertThat(lock.inspect().readers()).isZero();
    }

    @Test
    void futuresBringBothSides() throws Exception {
        DistributedReadWriteLock lock = connect().rwLock(name);
        RwLockHandle one = lock.readLock().lockAsync().get(5, TimeUnit.SECONDS);
        RwLockHandle two = lock.readLock()
                .lockAsync(Duration.ofSeconds(5), Duration.ofSeconds(5))
                .get(5, TimeUnit.SECONDS);
        assertThat(lock.writeLock().tryLockAsync())
                .succeedsWithin(Duration.ofSeconds(5))
                .isNull();
        assertThat(lock.writeLock().lockAsync(Duration.ofMillis(300), null))
                .failsWithin(Duration.ofSeconds(5))
                .withThrowableThat()
                .withCauseInstanceOf(AcquireTimeoutException.class);
        CompletableFuture<RwLockHandle> writer = lock.writeLock().lockAsync();
        CompletableFuture<RwLockHandle> reader = lock.readLock().lockAsync();
        one.close();
        assertThat(writer).isNotDone();
        two.releaseAsync().get(5, TimeUnit.SECONDS);
        RwLockHandle writes = writer.get(5, TimeUnit.SECONDS);
        assertThat(reader).as("it came after the writer").isNotDone();
        writes.close();
        reader.get(5, TimeUnit.SECONDS).close();
        assertThat(server.command("EXISTS", name)).isEqualTo(0L);
    }

    @Test
    void aWaitThatIsGivenUpLeavesNothing() throws Exception {
        Client client = connect();
        DistributedReadWriteLock lock = client.rwLock(name);
        RwLockHandle handle = lock.writeLock().acquire();
        for (RwLockSide side : new RwLockSide[] {lock.readLock(), lock.writeLock()}) {
            CompletableFuture<RwLockHandle> cancelled = side.lockAsync();
            assertThat(cancelled.cancel(false)).isTrue();
            CompletableFuture<RwLockHandle> late = side.lockAsync();
            assertThatThrownBy(() -> late.get(20, TimeUnit.MILLISECONDS)).isInstanceOf(TimeoutException.class);
            assertThat(late).isCancelled();
            Background<RwLockHandle> interrupted =
                    Background.run(() -> side.acquire()).waits();
            interrupted.thread().interrupt();
            assertThat(interrupted.thrown()).isInstanceOf(InterruptedException.class);
        }
        handle.close();
        assertThat(lock.writeLock().tryLock(5, TimeUnit.SECONDS))
                .as("nobody stands in front")
                .isTrue();
        lock.writeLock().unlock();
        Eventually.holds("nothing is held", () -> client.stats().rwLock().held() == 0);
        assertThat(client.stats().rwLock().waiting()).isZero();
    }

    @Test
    void aReleasingCloseTellsTheHolder() throws Exception {
        Client client = connect();
        RwLockHandle handle = client.rwLock(name).readLock().acquire();
        CompletableFuture<LossReason> lost = handle.onLost();
        client.close(true);
        assertThat(lost).succeedsWithin(Duration.ofSeconds(5)).isEqualTo(LossReason.CLOSED);
        assertThatThrownBy(handle::close).isInstanceOf(ClosedException.class);
        assertThat(server.command("EXISTS", name)).isEqualTo(0L);
    }
}
