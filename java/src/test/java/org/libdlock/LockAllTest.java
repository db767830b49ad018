package org.libdlock;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Test;
import org.libdlock.support.Background;
import org.libdlock.support.Eventually;
import org.libdlock.support.Jvm;
import org.libdlock.support.Logged;

/** Several locks as one. What a single lock does, too, is tested there, and by the rules of the JDK's lock. */
class LockAllTest extends WithServer {
    private String[] names(String... ends) {
        List<String> names = new ArrayList<>();
        for (String end : ends) {
            names.add(name + "/" + end);
        }
        return names.toArray(String[]::new);
    }

    private DistributedLockAll ofTwo(Client client) {
        return client.lockAll(names("a", "b"));
    }

    private static void refused(ThrowingCallable call, String allowed) {
        assertThatThrownBy(call)
                .isInstanceOfSatisfying(InvalidArgumentException.class, refused -> assertThat(refused.allowed())
                        .isEqualTo(allowed));
    }

    @Test
    void allAreHeldOrNone() throws Exception {
        Client client = connect();
        DistributedLockAll set = ofTwo(client);
        assertThat(set.names()).containsExactly(names("a", "b"));
        set.lock();
        DistributedLock a = connect().lock(names("a")[0]);
        assertThat(a.tryLock()).isFalse();
        assertThat(set.isHeldByCurrentThread()).isTrue();
        assertThat(set.isValid()).isTrue();
        assertThat(set.remaining()).isGreaterThan(Duration.ofSeconds(20));
        set.unlock();
        assertThat(a.tryLock()).isTrue();
        assertThat(set.tryLock()).isFalse();
        assertThat(set.tryLock(20, TimeUnit.MILLISECONDS)).isFalse();
        assertThat(connect().lock(names("b")[0]).tryLock()).as("given back").isTrue();
        assertThat(set.isHeldByCurrentThread()).isFalse();
        assertThat(set.isValid()).isFalse();
    }

    @Test
    void eachLockHasItsToken() throws Exception {
        Client client = connect();
        DistributedLockAll set = client.lockAll(names("c", "a", "b", "a"));
        assertThat(set.names()).containsExactly(names("a", "b", "c"));
        assertThatThrownBy(set::tokens)
                .isInstanceOf(NotHeldException.class)
                .hasMessageContaining("does not hold all of these locks");
        set.lock();
        Map<String, Long> tokens = set.tokens();
        assertThat(tokens.keySet()).containsExactly(names("a", "b", "c"));
        for (String each : set.names()) {
            assertThat(tokens)
                    .containsEntry(each, client.lock(each).inspect().token().getAsLong());
        }
        assertThat(set.token(names("b")[0])).isEqualTo(tokens.get(names("b")[0]));
        assertThatThrownBy(() -> set.token("other")).isInstanceOf(InvalidArgumentException.class);
        set.unlock();
        assertThatThrownBy(() -> set.token(names("b")[0])).isInstanceOf(NotHeldException.class);
        try (LockAllHandle handle = set.acquire()) {
            assertThat(handle.lockAll()).isSameAs(set);
            assertThat(handle.token(names("c")[0])).isGreaterThan(tokens.get(names("c")[0]));
            assertThatThrownBy(() -> handle.token("other"))
                    .isInstanceOf(InvalidArgumentException.class)
                    .hasMessageContaining("none of the locks of this hold");
            assertThat(handle.tokens().keySet()).containsExactly(names("a", "b", "c"));
            handle.tokens().forEach((each, token) -> assertThat(token).isGreaterThan(tokens.get(each)));
        }
    }

    @Test
    @SuppressWarnings("NullAway") // for a name that is null
    void theNumberOfNamesIsChecked() {
        Client client = connect();
        List<String> many = new ArrayList<>();
        for (int i = 0; i < 100; i++) {
            many.add(name + i);
        }
        DistributedLockAll all = client.lockAll(many, LockOptions.defaults());
        assertThat(all.tryLock()).isTrue();
        all.unlock();
        many.add(name);
        refused(() -> client.lockAll(many, LockOptions.defaults()), "1 to 100 different names");
        refused(client::lockAll, "1 to 100 different names");
        assertThatThrownBy(() -> client.lockAll("a", "a{")).isInstanceOf(InvalidNameException.class);
        assertThatThrownBy(() -> client.lockAll("a", "\ud800")).isInstanceOf(InvalidNameException.class);
        assertThatThrownBy(() -> client.lockAll("a", null))
                .isInstanceOf(NullPointerException.class)
                .hasMessage("a name is null");
    }

    @Test
    void itIsReentrantUnlessToldOtherwise() throws Exception {
        Client client = connect();
        DistributedLockAll set = ofTwo(client);
        set.lock();
        Map<String, Long> tokens = set.tokens();
        assertThat(set.tryLock()).isTrue();
        ofTwo(client).lockInterruptibly();
        assertThat(set.getHoldCount()).isEqualTo(3);
        assertThat(set.tokens()).isEqualTo(tokens);
        for (int left = 2; left >= 0; left--) {
            set.unlock();
            assertThat(set.getHoldCount()).isEqualTo(left);
        }
        assertThatThrownBy(set::unlock).isInstanceOf(NotHeldException.class);
        DistributedLockAll strict =
                client.lockAll(set.names(), LockOptions.defaults().reentrant(false));
        strict.lock();
        assertThatThrownBy(strict::lock).isInstanceOf(DeadlockException.class);
        assertThatThrownBy(strict::tryLock).isInstanceOf(DeadlockException.class);
        strict.unlock();
        assertThat(set.getHoldCount()).isZero();
    }

    @Test
    void whatTheThreadHoldsAlreadyIsEnteredAgain() throws Exception {
        Client client = connect();
        DistributedLock a = client.lock(names("a")[0]);
        a.lock();
        DistributedLockAll set = ofTwo(client);
        set.lock();
        assertThat(set.tokens()).containsEntry(a.name(), a.token());
        a.unlock();
        assertThat(a.getHoldCount()).as("through the set").isEqualTo(1);
        assertThat(set.isValid()).isTrue();
        set.unlock();
        assertThatThrownBy(a::token).as("nothing of it is left").isInstanceOf(NotHeldException.class);
        assertThat(a.getHoldCount()).isZero();
        assertThat(connect().lock(a.name()).tryLock()).isTrue();
    }

    @Test
    void aLockTellsWhatTheThreadHasThroughASet() throws Exception {
        Client client = connect();
        DistributedLockAll set = ofTwo(client);
        set.lock();
        DistributedLock a = client.lock(names("a")[0]);
        assertThat(a.isHeldByCurrentThread()).isTrue();
        assertThat(a.token()).isEqualTo(set.token(a.name()));
        assertThat(a.owner()).isEqualTo(a.inspect().holder());
        assertThat(a.isValid()).isTrue();
        assertThat(a.remaining()).isGreaterThan(Duration.ofSeconds(20));
        CompletableFuture<LossReason> lost = a.onLost();
        // Acquired besides, and released again, it is the same hold.
        a.lock();
        a.unlock();
        assertThat(a.token()).isEqualTo(set.token(a.name()));

        DistributedLock elsewhere = connect().lock(a.name());
        assertThatThrownBy(elsewhere::token).isInstanceOf(NotHeldException.class);
        assertThat(Background.run(a::isValid).get()).as("of another thread").isFalse();

        elsewhere.forceRelease();
        assertThat(lost).succeedsWithin(Duration.ofSeconds(5)).isEqualTo(LossReason.DELETED);
        assertThat(a.isValid()).isFalse();
        assertThat(a.remaining()).isZero();
        assertThatThrownBy(a::token).isInstanceOf(NotHeldException.class);
        assertThatThrownBy(set::unlock).isInstanceOf(NotHeldException.class);
    }

    @Test
    void waitingForWhatComesBeforeIsADeadlock() throws Exception {
        Client client = connect();
        connect().lock(names("a")[0]).lock();
        DistributedLock b = client.lock(names("b")[0]);
        b.lock();
        DistributedLockAll set = ofTwo(client);
        assertThatThrownBy(set::lock).isInstanceOf(DeadlockException.class).hasMessageContaining(names("a")[0]);
        assertThat(set.tryLock()).as("without a wait").isFalse();
        assertThat(b.getHoldCount()).isEqualTo(1);
        b.unlock();
    }

    @Test
    void setsThatOverlapNeverBlockEachOther() throws Exception {
        List<Client> clients = List.of(connect(), connect());
        List<String[]> sets = List.of(names("a", "b", "c"), names("c", "b"), names("b", "a"), names("c", "a"));
        AtomicInteger inB = new AtomicInteger();
        List<Background<Integer>> workers = new ArrayList<>();
        for (int i = 0; i < 8; i++) {
            DistributedLockAll set = clients.get(i % 2).lockAll(sets.get(i % 4));
            boolean hasB = set.names().contains(names("b")[0]);
            workers.add(Background.run(() -> {
                int most = 0;
                for (int turn = 0; turn < 20; turn++) {
                    set.lock();
                    if (hasB) {
                        most = Math.max(most, inB.incrementAndGet());
                        Thread.onSpinWait();
                        inB.decrementAndGet();
                    }
                    set.unlock();
                }
                return most;
            }));
        }
        for (Background<Integer> worker : workers) {
            assertThat(worker.get()).isLessThanOrEqualTo(1);
        }
    }

    @Test
    void theLockThatWasLostIsNamed() throws Exception {
        Client client = connect();
        DistributedLockAll set = ofTwo(client);
        set.lock();
        LockAllHandle handle = client.lockAll(names("c", "d")).acquire();
        assertThat(set.lostMember()).isNull();
        assertThat(handle.lostMember()).isNull();
        CompletableFuture<LossReason> lost = set.onLost();
        client.lock(names("b")[0]).forceRelease();
        client.lock(names("d")[0]).forceRelease();
        LostMember b = new LostMember(names("b")[0], LossReason.DELETED);
        LostMember d = new LostMember(names("d")[0], LossReason.DELETED);
        assertThat(lost).succeedsWithin(Duration.ofSeconds(5)).isEqualTo(LossReason.DELETED);
        assertThat(set.lostMember()).isEqualTo(b);
        assertThat(handle.isValid()).isFalse();
        assertThat(handle.lostMember()).isEqualTo(d);
        assertThatThrownBy(set::unlock).isInstanceOf(NotHeldException.class).hasMessageContaining(b.name());
        assertThatThrownBy(handle::release).isInstanceOf(NotHeldException.class).hasMessageContaining(d.name());
        assertThat(handle.lostMember()).as("also after the end").isEqualTo(d);
        assertThat(handle.tokens()).hasSize(2);
        assertThat(set.lostMember()).isNull();
        DistributedLockAll all = connect().lockAll(names("a", "b", "c", "d"));
        assertThat(all.tryLock()).as("the others were released all the same").isTrue();
    }

    @Test
    void whatIsLeftAfterALossTakesItsRelease() throws Exception {
        Client client = connect();
        DistributedLockAll set = ofTwo(client);
        set.lock();
        client.lock(names("a")[0]).forceRelease();
        assertThatThrownBy(set::lock).isInstanceOf(LockLostException.class).hasMessageContaining(names("a")[0]);
        assertThat(set.isHeldByCurrentThread()).isFalse();
        assertThat(server.command("EXISTS", names("b")[0])).as("still held").isEqualTo(1L);
        assertThatThrownBy(set::unlock).isInstanceOf(NotHeldException.class).hasMessageContaining(names("a")[0]);
        assertThat(server.command("EXISTS", names("b")[0])).isEqualTo(0L);
        set.lock();
        assertThat(set.getHoldCount()).isEqualTo(1);
        set.unlock();
        assertThatThrownBy(set::unlock).isInstanceOf(NotHeldException.class);
    }

    @Test
    void aThreadThatEndsWithAPartOfThemIsNoticed() throws Exception {
        try (Logged logged = new Logged()) {
            Client client = connect(Options.defaults().lease(Duration.ofMillis(1500)));
            DistributedLockAll set = ofTwo(client);
            Background.run(() -> {
                        set.lock();
                        client.lock(names("a")[0]).forceRelease();
                        assertThat(set.isValid()).isFalse();
                        assertThat(set.isHeldByCurrentThread()).isFalse();
                        return null;
                    })
                    .get();
            logged.awaitWarning("its holder went away");
            assertThat(set.tryLock(20, TimeUnit.SECONDS)).isTrue();
            set.unlock();
        }
    }

    @Test
    void leasesAreForAll() throws Exception {
        DistributedLockAll set = ofTwo(connect());
        assertThat(set.tryLock(0, 5, TimeUnit.SECONDS)).isTrue();
        assertThat(set.remaining()).isBetween(Duration.ofSeconds(3), Duration.ofSeconds(5));
        set.extend(Duration.ofMinutes(2));
        assertThat(set.remaining()).isGreaterThan(Duration.ofSeconds(100));
        set.unlock();
        LockAllHandle handle = set.acquire(Duration.ZERO, Duration.ofMillis(300));
        assertThat(handle.onLost()).succeedsWithin(Duration.ofSeconds(5)).isEqualTo(LossReason.EXPIRED);
        assertThatThrownBy(handle::close).isInstanceOf(NotHeldException.class);
        assertThatThrownBy(() -> set.extend(Duration.ofSeconds(1))).isInstanceOf(NotHeldException.class);
    }

    @Test
    void aHandleBelongsToNoThread() throws Exception {
        DistributedLockAll set = ofTwo(connect());
        LockAllHandle handle = set.lockAsync().get();
        assertThat(set.isHeldByCurrentThread()).isFalse();
        assertThat(set.tryAcquire()).isNull();
        assertThat(set.tryLockAsync().get()).isNull();
        assertThatThrownBy(() -> set.acquire(Duration.ofMillis(300), null)).isInstanceOf(AcquireTimeoutException.class);
        handle.reenter();
        assertThat(handle.getHoldCount()).isEqualTo(2);
        handle.release();
        assertThat(Background.run(() -> {
                            handle.release();
                            return true;
                        })
                        .get())
                .isTrue();
        assertThatThrownBy(handle::release).isInstanceOf(NotHeldException.class);
        assertThatThrownBy(handle::reenter).isInstanceOf(NotHeldException.class);
        handle.close();
        assertThat(set.tryLock()).isTrue();
        set.unlock();
    }

    @Test
    void anInterruptLeavesNothingBehind() throws Exception {
        connect().lock(names("b")[0]).lock();
        Client client = connect();
        DistributedLockAll set = ofTwo(client);
        List<Callable<Object>> ways = List.of(
                () -> {
                    set.lockInterruptibly();
                    return "locked";
                },
                () -> set.tryLock(1, TimeUnit.HOURS),
                set::acquire);
        for (Callable<Object> way : ways) {
            Background<Object> waiter = Background.run(way);
            Eventually.holds("it waits", () -> client.stats().lock().waiting() == 1);
            waiter.thread().interrupt();
            assertThat(waiter.thrown()).isInstanceOf(InterruptedException.class);
            Eventually.holds("what it had is free", () -> server.command("EXISTS", names("a")[0])
                    .equals(0L));
        }
        CompletableFuture<LockAllHandle> future = set.lockAsync();
        Eventually.holds("it waits", () -> client.stats().lock().waiting() == 1);
        assertThat(future.cancel(true)).isTrue();
        Eventually.holds("what it had is free", () -> server.command("EXISTS", names("a")[0])
                .equals(0L));
        Eventually.holds("nobody waits", () -> client.stats().lock().waiting() == 0);
    }

    @Test
    void closingTheClientEndsItsWaiters() throws Exception {
        connect().lock(names("b")[0]).lock();
        Client client = connect();
        DistributedLockAll set = ofTwo(client);
        LockAllHandle handle = client.lockAll(names("c", "d")).acquire();
        Background<Object> waiter = Background.run(() -> {
            set.lock();
            return "locked";
        });
        Eventually.holds("it waits", () -> client.stats().lock().waiting() == 1);
        client.close(true);
        assertThat(waiter.thrown()).isInstanceOf(ClosedException.class);
        assertThatThrownBy(set::tryLock).isInstanceOf(ClosedException.class);
        assertThatThrownBy(set::unlock).isInstanceOf(ClosedException.class);
        assertThatThrownBy(() -> client.lockAll("a")).isInstanceOf(ClosedException.class);
        assertThat(handle.isValid()).isFalse();
        assertThat(set.getHoldCount()).isZero();
        assertThat(server.command("EXISTS", names("a")[0], names("c")[0], names("d")[0]))
                .isEqualTo(0L);
    }

    @Test
    void aThreadThatEndsWhileItHoldsIsNoticed() throws Exception {
        try (Logged logged = new Logged()) {
            DistributedLockAll set = ofTwo(connect(Options.defaults().lease(Duration.ofMillis(1500))));
            Background.run(() -> {
                        set.lock();
                        return null;
                    })
                    .get();
            logged.awaitWarning("its holder went away");
            assertThat(set.tryLock(20, TimeUnit.SECONDS)).isTrue();
            set.unlock();
        }
    }

    @Test
    void aThreadsHoldOutlivesTheObject() throws Exception {
        Client client = connect(Options.defaults().lease(Duration.ofSeconds(5)));
        ofTwo(client).lock();
        CompletableFuture<LossReason> lost = ofTwo(client).onLost();
        for (int i = 0; i < 1000; i++) {
            ofTwo(client).getHoldCount();
        }
        System.gc();
        awaitRenewals(() -> ofTwo(client).remaining());
        assertThat(lost).isNotDone();
        ofTwo(client).unlock();
        assertThat(lost).as("it was released").failsWithin(Duration.ofSeconds(5));
        assertThat(lost).isCancelled();
    }

    /** Holds both. */
    static final class Holding {
        public static void main(String[] args) throws Exception {
            Client client = Dlock.connect(args[0], Options.defaults().lease(Duration.ofSeconds(1)));
            client.lockAll(args[1] + "/a", args[1] + "/b").lock();
            System.out.println("holding");
            client.lockAll(args[1] + "/a", args[1] + "/b").onLost().get(1, TimeUnit.HOURS);
        }
    }

    @Test
    void locksOfAKilledJvmComeFree() throws Exception {
        DistributedLockAll set = ofTwo(connect());
        try (Jvm jvm = Jvm.start(Holding.class, server.url(), name)) {
            assertThat(jvm.line()).isEqualTo("holding");
            assertThat(set.tryLock()).isFalse();
            jvm.signal("KILL");
        }
        assertThat(set.tryLock(20, TimeUnit.SECONDS))
                .as("the lease of 1 s is over long before")
                .isTrue();
        set.unlock();
    }

    @Test
    void aSetHasNoConditions() {
        assertThatThrownBy(ofTwo(connect())::newCondition)
                .isInstanceOf(UnsupportedOperationException.class)
                .hasMessageContaining("no conditions");
    }
}
