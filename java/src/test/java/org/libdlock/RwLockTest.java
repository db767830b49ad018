package org.libdlock;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Test;
import org.libdlock.support.Background;
import org.libdlock.support.Eventually;

/** What our read-write lock has beyond the JDK's. */
class RwLockTest extends WithServer {
    private long pttl() {
        return (Long) server.command("PTTL", name);
    }

    @Test
    void aHoldTellsItsTokenOwnerAndTime() {
        DistributedReadWriteLock lock = connect().rwLock(name);
        long last = 0;
        for (RwLockSide side : List.of(lock.readLock(), lock.writeLock())) {
            side.lock();
            assertThat(side.isHeldByCurrentThread()).isTrue();
            assertThat(side.isValid()).isTrue();
            assertThat(side.remaining()).isBetween(Duration.ofSeconds(26), Duration.ofSeconds(27));
            assertThat(side.owner()).matches("[0-9a-f-]{36}:\\d+" + (side.isWrite() ? ":write" : ""));
            assertThat(server.command("HKEYS", name).toString()).isEqualTo("[mode, " + side.owner() + "]");
            assertThat(side.token()).as("of both sides, and of locks").isGreaterThan(last);
            last = side.token();
            side.lock();
            assertThat(side.token()).as("re-entry keeps the token").isEqualTo(last);
            side.unlock();
            side.unlock();
            assertThat(server.command("EXISTS", name)).isEqualTo(0L);
        }
    }

    @Test
    void aForcedReleaseEndsHoldsOfBothSides() {
        DistributedReadWriteLock lock = connect().rwLock(name);
        assertThat(lock.forceRelease()).isFalse();
        for (RwLockSide side : List.of(lock.readLock(), lock.writeLock())) {
            side.lock();
            assertThat(lock.forceRelease()).isTrue();
            assertThat(side.isValid()).isFalse();
            assertThat(side.isLocked()).isFalse();
            assertThat(server.command("EXISTS", name)).isEqualTo(0L);
            assertThatThrownBy(side::unlock).isInstanceOf(IllegalMonitorStateException.class);
        }
    }

    @Test
    void withoutAHoldThereIsNothingToTell() {
        DistributedReadWriteLock lock = connect().rwLock(name);
        for (RwLockSide side : List.of(lock.readLock(), lock.writeLock())) {
            assertThat(side.isHeldByCurrentThread()).isFalse();
            assertThat(side.isValid()).isFalse();
            assertThat(side.remaining()).isZero();
            assertThatThrownBy(side::token)
                    .isInstanceOf(NotHeldException.class)
                    .hasMessageContaining(
                            "this thread does not hold the " + (side.isWrite() ? "write" : "read") + " side");
            assertThatThrownBy(side::owner).isInstanceOf(NotHeldException.class);
            assertThatThrownBy(side::onLost).isInstanceOf(NotHeldException.class);
            assertThatThrownBy(() -> side.extend(Duration.ofSeconds(1))).isInstanceOf(NotHeldException.class);
            assertThatThrownBy(side::newCondition).isInstanceOf(UnsupportedOperationException.class);
        }
    }

    @Test
    void aReaderThatWantsToWriteIsToldWhatToDo() {
        DistributedReadWriteLock lock = connect().rwLock(name);
        lock.readLock().lock();
        List<org.assertj.core.api.ThrowableAssert.ThrowingCallable> ways = List.of(
                () -> lock.writeLock().lock(),
                () -> lock.writeLock().lockInterruptibly(),
                () -> lock.writeLock().tryLock(),
                () -> lock.writeLock().tryLock(1, TimeUnit.HOURS));
        for (var way : ways) {
            assertThatThrownBy(way)
                    .isInstanceOf(DeadlockException.class)
                    .hasMessageContaining("release the read side first")
                    .hasMessageContaining("token " + lock.readLock().token());
        }
        assertThat(lock.readLock().getHoldCount()).isEqualTo(1);
        lock.readLock().unlock();
        lock.writeLock().lock();
        lock.writeLock().unlock();
    }

    @Test
    void allLocksOfOneNameAreTheSameLock() {
        Client client = connect();
        client.rwLock(name).writeLock().lock();
        client.rwLock(name).readLock().lock();
        assertThat(client.rwLock(name).writeLock().getHoldCount()).isEqualTo(1);
        assertThat(connect().rwLock(name).readLock().tryLock()).isFalse();
        // Nobody keeps the object that acquired: the thread that holds does.
        System.gc();
        client.rwLock(name).writeLock().unlock();
        assertThat(connect().rwLock(name).readLock().tryLock()).isTrue();
        client.rwLock(name).readLock().unlock();
    }

    @Test
    void itShowsWhoWritesOrHowManyRead() {
        Client client = connect();
        DistributedReadWriteLock lock = client.rwLock(name);
        RwLockInspection free = lock.inspect();
        assertThat(free.writer()).isNull();
        assertThat(free.readers()).isZero();
        assertThat(free.ttl()).isNull();
        assertThat(free.queued()).isZero();
        lock.writeLock().lock();
        RwLockInspection written = connect().rwLock(name).inspect();
        assertThat(written.writer()).isEqualTo(lock.writeLock().owner());
        assertThat(written.ours()).isFalse();
        assertThat(lock.inspect().ours()).isTrue();
        assertThat(written.ttl()).isBetween(Duration.ofSeconds(25), Duration.ofSeconds(30));
        assertThat(written.token()).hasValue(lock.writeLock().token());
        assertThat(lock.writeLock().isLocked()).isTrue();
        assertThat(lock.readLock().isLocked()).isFalse();
        lock.writeLock().unlock();
        lock.readLock().lock();
        DistributedReadWriteLock other = connect().rwLock(name);
        other.readLock().lock();
        assertThat(other.inspect().readers()).isEqualTo(2);
        assertThat(lock.readLock().isLocked()).isTrue();
        assertThat(lock.writeLock().isLocked()).isFalse();
        other.readLock().unlock();
        lock.readLock().unlock();
    }

    @Test
    void aGivenLeaseIsNotRenewedAndCanBeExtended() throws Exception {
        RwLockSide side = connect().rwLock(name).readLock();
        assertThat(side.tryLock(0, 5000, TimeUnit.MILLISECONDS)).isTrue();
        assertThat(pttl()).isBetween(4000L, 5000L);
        side.extend(Duration.ofSeconds(60));
        assertThat(pttl()).isGreaterThan(59_000L);
        side.extend(Duration.ofSeconds(1));
        assertThat(side.remaining()).as("never shorter").isGreaterThan(Duration.ofSeconds(50));
        side.unlock();
        assertThat(side.tryLock(null, Duration.ofSeconds(7))).isTrue();
        assertThat(pttl()).isBetween(6000L, 7000L);
        side.unlock();
        side.lock(10, TimeUnit.SECONDS);
        assertThat(pttl()).isBetween(9000L, 10_000L);
        side.unlock();
    }

    @Test
    void itsOptionsWinOverTheClients() {
        Client client = connect(Options.defaults().reentrant(false).lease(Duration.ofSeconds(20)));
        RwLockSide strict = client.rwLock(name).writeLock();
        strict.lock();
        assertThat(pttl()).isBetween(15_000L, 20_000L);
        assertThatThrownBy(strict::lock).isInstanceOf(DeadlockException.class);
        RwLockOptions again = RwLockOptions.defaults().reentrant(true).lease(Duration.ofSeconds(3));
        RwLockSide relaxed = client.rwLock(name, again).writeLock();
        relaxed.lock();
        relaxed.unlock();
        strict.unlock();
        relaxed.lock();
        assertThat(pttl()).isLessThanOrEqualTo(3000L);
        relaxed.unlock();
        RwLockOptions watched = RwLockOptions.defaults().watchdogLease(Duration.ofSeconds(8));
        RwLockSide renewed = client.rwLock(name, watched).readLock();
        renewed.lock();
        assertThat(pttl()).isBetween(5000L, 8000L);
        renewed.unlock();
    }

    @Test
    void anOptionOutOfRangeSaysWhatIsAllowed() {
        Client client = connect();
        assertThatThrownBy(() -> client.rwLock(name, RwLockOptions.defaults().lease(Duration.ofMillis(99))))
                .isInstanceOf(InvalidArgumentException.class);
        assertThatThrownBy(() -> client.rwLock(name, RwLockOptions.defaults().sharedAge(Duration.ofSeconds(11))))
                .isInstanceOfSatisfying(InvalidArgumentException.class, refused -> assertThat(refused.allowed())
                        .isEqualTo("0 to 10 s"));
        assertThatThrownBy(() -> client.rwLock(name, RwLockOptions.defaults().sharedAge(Duration.ofMillis(-1))))
                .isInstanceOf(InvalidArgumentException.class);
        assertThatThrownBy(() -> client.rwLock(
                        name,
                        RwLockOptions.defaults().lease(Duration.ofSeconds(1)).watchdogLease(Duration.ofSeconds(1))))
                .isInstanceOf(InvalidArgumentException.class);
        assertThatThrownBy(() -> client.rwLock("a{")).isInstanceOf(InvalidNameException.class);
        assertThatThrownBy(() -> client.rwLock("\ud800")).isInstanceOf(InvalidNameException.class);
    }

    @Test
    void readersOfOneClientShareAHoldOfTheServer() {
        Client client = connect();
        RwLockOptions shared = RwLockOptions.defaults().sharedAge(Duration.ofSeconds(5));
        RwLockSide read = client.rwLock(name, shared).readLock();
        read.lock();
        long token = read.token();
        assertThat(Background.run(() -> {
                            read.lock();
                            try {
                                return read.token();
                            } finally {
                                read.unlock();
                            }
                        })
                        .get())
                .isEqualTo(token);
        assertThat(read.isValid()).as("its own part of it").isTrue();
        RwLockSide alone = client.rwLock(name, RwLockOptions.defaults().sharedAge(Duration.ZERO))
                .readLock();
        Background.run(() -> {
                    alone.lock();
                    assertThat(alone.token()).isGreaterThan(token);
                    assertThat(client.rwLock(name).inspect().readers()).isEqualTo(2);
                    alone.unlock();
                    return null;
                })
                .get();
        read.unlock();
        assertThat(server.command("EXISTS", name)).isEqualTo(0L);
    }

    @Test
    void aNameOfAnotherKindIsRefused() {
        Client client = connect();
        DistributedLock lock = client.lock(name);
        RwLockSide write = client.rwLock(name).writeLock();
        lock.lock();
        assertThatThrownBy(write::tryLock).isInstanceOf(WrongTypeException.class);
        assertThatThrownBy(() -> client.rwLock(name).inspect()).isInstanceOf(WrongTypeException.class);
        long token = lock.token();
        lock.unlock();
        write.lock();
        assertThat(write.token()).as("the tokens of one name are one sequence").isGreaterThan(token);
        assertThatThrownBy(lock::tryLock).isInstanceOf(WrongTypeException.class);
        write.unlock();
    }

    @Test
    void aLossIsToldOnceAndTheLockIsAcquiredAnew() throws Exception {
        DistributedReadWriteLock lock = connect().rwLock(name);
        RwLockSide write = lock.writeLock();
        assertThat(write.tryLock(0, 300, TimeUnit.MILLISECONDS)).isTrue();
        CompletableFuture<LossReason> lost = write.onLost();
        assertThat(lost.get(5, TimeUnit.SECONDS)).isEqualTo(LossReason.EXPIRED);
        assertThatThrownBy(write::unlock).isInstanceOf(IllegalMonitorStateException.class);
        assertThat(write.tryLock(Duration.ofSeconds(5), Duration.ofMillis(300))).isTrue();
        Eventually.holds("it is lost", () -> !write.isValid());
        assertThat(write.isHeldByCurrentThread()).isFalse();
        // The other side tells of it, too.
        assertThat(write.tryLock(Duration.ofSeconds(5), Duration.ofMillis(300))).isTrue();
        assertThat(write.onLost().get(5, TimeUnit.SECONDS)).isEqualTo(LossReason.EXPIRED);
        assertThatThrownBy(() -> lock.readLock().lock()).isInstanceOf(LockLostException.class);
        write.lock();
        write.lock();
        assertThat(write.getHoldCount()).isEqualTo(2);
        write.unlock();
        write.unlock();
        assertThatThrownBy(write::unlock).isInstanceOf(NotHeldException.class);
    }

    @Test
    void readersAndWritersAreCounted() {
        Client client = connect();
        DistributedReadWriteLock lock = client.rwLock(name);
        lock.writeLock().lock();
        lock.readLock().lock();
        assertThat(Background.run(() -> lock.readLock().tryLock()).get()).isFalse();
        lock.writeLock().unlock();
        RwLockStats counted = client.stats().rwLock();
        assertThat(counted.acquired()).isEqualTo(2);
        assertThat(counted.waitTimeouts()).isEqualTo(1);
        assertThat(counted.released()).isEqualTo(1);
        assertThat(counted.held()).isEqualTo(1);
        lock.readLock().unlock();
        assertThat(client.stats().rwLock().held()).isZero();
    }

    /** Each value is written twice; a reader that met a writer would see two. */
    @Test
    void manyThreadsAndClientsNeverSeeAHalfWrittenValue() {
        int[] cells = new int[2];
        List<Background<Integer>> threads = new ArrayList<>();
        for (Client client : List.of(connect(), connect())) {
            DistributedReadWriteLock lock = client.rwLock(name);
            for (int i = 0; i < 4; i++) {
                boolean writes = i == 0;
                threads.add(Background.run(() -> {
                    for (int round = 0; round < 50; round++) {
                        RwLockSide side = writes ? lock.writeLock() : lock.readLock();
                        side.lock();
                        try {
                            assertThat(cells[0]).isEqualTo(cells[1]);
                            if (writes) {
                                cells[0]++;
                                LockSupport.parkNanos(10_000);
                                cells[1]++;
                            }
                        } finally {
                            side.unlock();
                        }
                    }
                    return 1;
                }));
            }
        }
        threads.forEach(thread -> assertThat(thread.get()).isEqualTo(1));
        assertThat(cells).containsExactly(100, 100);
    }
}
