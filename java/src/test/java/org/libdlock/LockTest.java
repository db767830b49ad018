package org.libdlock;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.libdlock.support.Background;

/** What our lock has beyond the JDK's. */
class LockTest extends WithServer {
    @Test
    void aHoldTellsItsTokenOwnerAndTime() {
        DistributedLock lock = connect().lock(name);
        lock.lock();
        assertThat(lock.isHeldByCurrentThread()).isTrue();
        assertThat(lock.isValid()).isTrue();
        assertThat(lock.remaining()).isBetween(Duration.ofSeconds(26), Duration.ofSeconds(27));
        assertThat(lock.owner()).matches("[0-9a-f-]{36}:\\d+");
        assertThat(server.command("HKEYS", name).toString()).isEqualTo("[" + lock.owner() + "]");
        assertThat(server.command("GET", "redisson_lock_token:{" + name + "}")).isEqualTo(Long.toString(lock.token()));
        long token = lock.token();
        lock.lock();
        assertThat(lock.token()).as("re-entry keeps the token").isEqualTo(token);
        lock.unlock();
        lock.unlock();
        assertThat(server.command("EXISTS", name)).isEqualTo(0L);
        lock.lock();
        assertThat(lock.token()).isGreaterThan(token);
        lock.unlock();
    }

    @Test
    void withoutAHoldThereIsNothingToTell() {
        DistributedLock lock = connect().lock(name);
        assertThat(lock.isHeldByCurrentThread()).isFalse();
        assertThat(lock.isValid()).isFalse();
        assertThat(lock.remaining()).isZero();
        assertThatThrownBy(lock::token).isInstanceOf(NotHeldException.class);
        assertThatThrownBy(lock::owner).isInstanceOf(NotHeldException.class);
        assertThatThrownBy(lock::onLost).isInstanceOf(NotHeldException.class);
        assertThatThrownBy(lock::detach).isInstanceOf(NotHeldException.class);
        assertThatThrownBy(() -> lock.extend(Duration.ofSeconds(1))).isInstanceOf(NotHeldException.class);
        assertThatThrownBy(lock::newCondition).isInstanceOf(UnsupportedOperationException.class);
    }

    @Test
    void allLocksOfOneNameAreTheSameLock() {
        Client client = connect();
        client.lock(name).lock();
        assertThat(client.lock(name).getHoldCount()).isEqualTo(1);
        assertThat(client.lock(name).token()).isPositive();
        assertThat(connect().lock(name).tryLock()).isFalse();
        // Nobody keeps the object that acquired: the thread that holds does.
        System.gc();
        client.lock(name).unlock();
        assertThat(server.command("EXISTS", name)).isEqualTo(0L);
    }

    @Test
    void aGivenLeaseIsNotRenewedAndCanBeExtended() throws Exception {
        DistributedLock lock = connect().lock(name);
        assertThat(lock.tryLock(0, 5000, TimeUnit.MILLISECONDS)).isTrue();
        assertThat((Long) server.command("PTTL", name)).isBetween(4000L, 5000L);
        lock.extend(Duration.ofSeconds(60));
        assertThat((Long) server.command("PTTL", name)).isGreaterThan(59_000L);
        lock.extend(Duration.ofSeconds(1));
        assertThat(lock.remaining()).as("never shorter").isGreaterThan(Duration.ofSeconds(50));
        lock.unlock();
        assertThat(lock.tryLock(null, Duration.ofSeconds(7))).isTrue();
        assertThat((Long) server.command("PTTL", name)).isBetween(6000L, 7000L);
        lock.unlock();
        // Redisson's -1: renewed.
        assertThat(lock.tryLock(10, -1, TimeUnit.SECONDS)).isTrue();
        assertThat((Long) server.command("PTTL", name)).isGreaterThan(20_000L);
        lock.unlock();
    }

    @Test
    void optionsOfALockWinOverTheClients() {
        Client client = connect(Options.defaults().reentrant(false).lease(Duration.ofSeconds(20)));
        DistributedLock strict = client.lock(name);
        strict.lock();
        assertThat((Long) server.command("PTTL", name)).isBetween(15_000L, 20_000L);
        assertThatThrownBy(strict::lock).isInstanceOf(DeadlockException.class);
        assertThatThrownBy(strict::tryLock).isInstanceOf(DeadlockException.class);
        DistributedLock relaxed =
                client.lock(name, LockOptions.defaults().reentrant(true).lease(Duration.ofSeconds(3)));
        relaxed.lock();
        relaxed.unlock();
        strict.unlock();
        relaxed.lock();
        assertThat((Long) server.command("PTTL", name)).isLessThanOrEqualTo(3000L);
        relaxed.unlock();
    }

    @Test
    void aHoldIsHandedToAnotherThreadOnPurpose() {
        DistributedLock lock = connect().lock(name);
        lock.lock();
        long token = lock.token();
        String text = lock.detach();
        assertThat(lock.isHeldByCurrentThread()).isFalse();
        assertThatThrownBy(lock::unlock).isInstanceOf(NotHeldException.class);
        assertThat(lock.isLocked()).isTrue();
        Client other = connect();
        long attached = Background.run(() -> {
                    DistributedLock theirs = other.lock(name);
                    theirs.attach(text);
                    long same = theirs.token();
                    theirs.unlock();
                    return same;
                })
                .get();
        assertThat(attached).isEqualTo(token);
        assertThatThrownBy(() -> lock.attach(text)).isInstanceOf(NotHeldException.class);
        assertThatThrownBy(() -> lock.attach("nonsense")).isInstanceOf(InvalidArgumentException.class);
        lock.lock();
        lock.lock();
        assertThatThrownBy(lock::detach).isInstanceOf(InvalidArgumentException.class);
        assertThat(lock.getHoldCount()).isEqualTo(2);
        lock.unlock();
        lock.unlock();
    }

    @Test
    void anOperatorMayFreeItAndTheHolderHears() throws Exception {
        DistributedLock lock =
                connect(Options.defaults().lease(Duration.ofMillis(1500))).lock(name);
        assertThat(lock.forceRelease()).isFalse();
        lock.lock();
        CompletableFuture<LossReason> lost = lock.onLost();
        assertThat(connect().lock(name).forceRelease()).isTrue();
        assertThat(lost.get(2, TimeUnit.SECONDS)).isEqualTo(LossReason.DELETED);
        assertThat(lock.isValid()).isFalse();
        assertThat(lock.isHeldByCurrentThread()).isFalse();
        assertThatThrownBy(lock::unlock)
                .isInstanceOf(IllegalMonitorStateException.class)
                .isInstanceOf(DlockError.class);
        assertThatThrownBy(lock::token).as("the failed release has ended it").isInstanceOf(NotHeldException.class);
    }

    @Test
    void theLostSignalComesBeforeTheEnd() throws Exception {
        DistributedLock lock = connect().lock(name);
        assertThat(lock.tryLock(0, 300, TimeUnit.MILLISECONDS)).isTrue();
        CompletableFuture<LossReason> lost = lock.onLost();
        long ttlWhenLost =
                lost.thenApply(reason -> (Long) server.command("PTTL", name)).get(2, TimeUnit.SECONDS);
        assertThat(ttlWhenLost).as("milliseconds left on the server").isPositive();
        assertThat(lost.get()).isEqualTo(LossReason.EXPIRED);
        assertThat(lock.onLost().get(1, TimeUnit.SECONDS)).isEqualTo(LossReason.EXPIRED);
        assertThatThrownBy(lock::unlock).isInstanceOf(IllegalMonitorStateException.class);
        lock.lock();
        assertThat(lock.isValid()).as("lost once, held again").isTrue();
        lock.unlock();
    }

    @Test
    void theLostSignalIsCancelledByARelease() {
        DistributedLock lock = connect().lock(name);
        lock.lock();
        CompletableFuture<LossReason> lost = lock.onLost();
        lock.unlock();
        assertThat(lost).failsWithin(Duration.ofSeconds(2));
        assertThat(lost.isCancelled()).isTrue();
    }

    @Test
    void aKeyPrefixIsPutBeforeEveryName() {
        DistributedLock lock = connect(Options.defaults().keyPrefix("shop:")).lock(name);
        lock.lock();
        assertThat(server.command("EXISTS", "shop:" + name)).isEqualTo(1L);
        assertThat(lock.name()).isEqualTo(name);
        lock.unlock();
    }
}
