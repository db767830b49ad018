package org.libdlock;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.libdlock.internal.Holders;
import org.libdlock.support.Background;
import org.libdlock.support.Eventually;
import org.libdlock.support.Jvm;
import org.libdlock.support.Logged;

/** Threads, objects, clients and JVMs that end while they read or write, or wait for that. */
class RwLockEndsTest extends WithServer {
    @Test
    void aThreadThatEndsWithASideIsNoticed() throws Exception {
        for (boolean writes : new boolean[] {false, true}) {
            try (Logged logged = new Logged()) {
                DistributedReadWriteLock lock =
                        connect(Options.defaults().lease(Duration.ofSeconds(4))).rwLock(name);
                Background.run(() -> {
                            lock.writeLock().lock();
                            lock.readLock().lock();
                            (writes ? lock.readLock() : lock.writeLock()).unlock();
                            return null;
                        })
                        .get();
                logged.awaitWarning("its holder went away");
                // Renewal has stopped: the lease runs out, and no sooner.
                assertThat(server.command("EXISTS", name)).isEqualTo(1L);
                assertThat(lock.writeLock().tryLock(20, TimeUnit.SECONDS)).isTrue();
                lock.writeLock().unlock();
            }
        }
    }

    @Test
    void aThreadThatEndsLeavesTheOthersThatShareItsHold() throws Exception {
        try (Logged logged = new Logged()) {
            Client client = connect(Options.defaults().lease(Duration.ofSeconds(5)));
            RwLockOptions shared = RwLockOptions.defaults().sharedAge(Duration.ofSeconds(5));
            RwLockSide read = client.rwLock(name, shared).readLock();
            read.lock();
            long token = Background.run(() -> {
                        read.lock();
                        return read.token();
                    })
                    .get();
            assertThat(token).isEqualTo(read.token());
            // Longer than the look for dead threads.
            awaitRenewals(read::remaining);
            assertThat(read.isValid()).isTrue();
            read.unlock();
            assertThat(logged.warned("lost")).isFalse();
        }
    }

    /** What is kept for a thread that lives for ever must not grow with every lock that it has used. */
    @Test
    void nothingIsKeptForAThreadThatHoldsNothing() throws Exception {
        Client client = connect();
        DistributedReadWriteLock lock = client.rwLock(name);
        for (RwLockSide side : List.of(lock.readLock(), lock.writeLock())) {
            Holders.Key key = new Holders.Key(side.isWrite() ? "rw_lock write" : "rw_lock read", name);
            side.lock();
            side.lock();
            assertThat(client.holders().levels(key)).isNotNull();
            side.unlock();
            assertThat(client.holders().levels(key)).as("one is held").isNotNull();
            side.unlock();
            assertThat(client.holders().levels(key)).isNull();
            try (RwLockHandle other = lock.writeLock().acquire()) {
                assertThat(side.tryLock()).isFalse();
                assertThat(other.isValid()).isTrue();
            }
            assertThat(client.holders().levels(key))
                    .as("a handle is no thread's")
                    .isNull();
            assertThat(side.tryLock(0, 100, TimeUnit.MILLISECONDS)).isTrue();
            Eventually.holds("it is lost", () -> !side.isValid());
            assertThat(client.holders().levels(key)).as("also after a loss").isNull();
        }
        lock.readLock().lock();
        assertThatThrownBy(lock.writeLock()::lock).isInstanceOf(DeadlockException.class);
        assertThat(client.holders().levels(new Holders.Key("rw_lock write", name)))
                .isNull();
        lock.readLock().unlock();
    }

    @Test
    void aHandleCollectedWhileItHoldsWarns() throws Exception {
        try (Logged logged = new Logged()) {
            DistributedReadWriteLock lock =
                    connect(Options.defaults().lease(Duration.ofMillis(1500))).rwLock(name);
            lock.readLock().acquire().isValid();
            Eventually.holds("the handle is collected", () -> {
                System.gc();
                return logged.warned("its holder went away");
            });
            assertThat(lock.writeLock().tryLock(20, TimeUnit.SECONDS)).isTrue();
            lock.writeLock().unlock();
        }
    }

    @Test
    void aThreadsHoldOutlivesTheLockObject() throws Exception {
        Client client = connect(Options.defaults().lease(Duration.ofSeconds(5)));
        client.rwLock(name).readLock().lock();
        CompletableFuture<LossReason> lost = client.rwLock(name).readLock().onLost();
        for (int i = 0; i < 10_000; i++) {
            client.rwLock(name).writeLock().getHoldCount();
        }
        System.gc();
        awaitRenewals(() -> client.rwLock(name).readLock().remaining());
        assertThat(lost).isNotDone();
        client.rwLock(name).readLock().unlock();
        assertThat(lost).as("it was released").failsWithin(Duration.ofSeconds(5));
        assertThat(lost).isCancelled();
        assertThat(server.command("EXISTS", name)).isEqualTo(0L);
    }

    @Test
    void closingTheClientEndsItsWaiters() throws Exception {
        Client client = connect();
        DistributedReadWriteLock lock = client.rwLock(name);
        lock.writeLock().lock();
        CompletableFuture<LossReason> lost = lock.writeLock().onLost();
        List<Callable<Object>> ways = List.of(
                () -> {
                    lock.readLock().lock();
                    return "acquired";
                },
                () -> lock.writeLock().tryLock(1, TimeUnit.HOURS),
                () -> lock.readLock().acquire(),
                () -> lock.writeLock().lockAsync().join());
        List<Background<Object>> waiters = ways.stream().map(Background::run).toList();
        Eventually.holds("all wait", () -> client.stats().rwLock().waiting() == ways.size());
        client.close(true);
        for (Background<Object> waiter : waiters) {
            Throwable thrown = waiter.thrown();
            assertThat(thrown.getCause() == null ? thrown : thrown.getCause()).isInstanceOf(ClosedException.class);
        }
        assertThat(lost).succeedsWithin(Duration.ofSeconds(5)).isEqualTo(LossReason.CLOSED);
        assertThat(server.command("EXISTS", name)).as("given back").isEqualTo(0L);
        assertThatThrownBy(lock.writeLock()::unlock).isInstanceOf(ClosedException.class);
        assertThatThrownBy(lock.readLock()::tryLock).isInstanceOf(ClosedException.class);
        assertThatThrownBy(lock::inspect).isInstanceOf(ClosedException.class);
        assertThatThrownBy(() -> client.rwLock(name)).isInstanceOf(ClosedException.class);
        assertThat(lock.readLock().getHoldCount()).isZero();
        assertThat(lock.readLock().isValid()).isFalse();
    }

    /** Reads. */
    static final class Reading {
        public static void main(String[] args) throws Exception {
            Client client = Dlock.connect(args[0], Options.defaults().lease(Duration.ofSeconds(1)));
            RwLockSide read = client.rwLock(args[1]).readLock();
            read.lock();
            System.out.println("reading");
            if (args[2].equals("wait")) {
                read.onLost().get(1, TimeUnit.HOURS);
            }
        }
    }

    @Test
    void aKilledJvmReadsNoLongerThanItsLease() throws Exception {
        DistributedReadWriteLock lock = connect().rwLock(name);
        lock.readLock().lock();
        try (Jvm jvm = Jvm.start(Reading.class, server.url(), name, "wait")) {
            assertThat(jvm.line()).isEqualTo("reading");
            assertThat(lock.inspect().readers()).isEqualTo(2);
            jvm.signal("KILL");
        }
        lock.readLock().unlock();
        assertThat(lock.writeLock().tryLock(20, TimeUnit.SECONDS))
                .as("the lease of 1 s is over long before")
                .isTrue();
        lock.writeLock().unlock();
    }

    @Test
    void aJvmEndsWhileItReads() {
        try (Jvm jvm = Jvm.start(Reading.class, server.url(), name, "return")) {
            assertThat(jvm.end()).isEqualTo("reading\n");
        }
    }
}
