package org.libdlock;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.libdlock.internal.Failure;
import org.libdlock.support.Background;
import org.libdlock.support.Eventually;
import org.libdlock.support.Jvm;
import org.libdlock.support.Proxy;
import org.libdlock.support.RedisServer;
import org.libdlock.support.Stopwatch;

/** Faults that a Java program meets. tests/faults/README.md lists all of them, with the tests that have a checker. */
class FaultsTest extends WithServer {
    /** Holds a lock, says its token, then how it was lost and what the release said. */
    static final class Holder {
        public static void main(String[] args) throws Exception {
            try (Client client =
                    Dlock.connect(args[0], Options.defaults().lease(Duration.ofMillis(Long.parseLong(args[2]))))) {
                DistributedLock lock = client.lock(args[1]);
                lock.lock();
                System.out.println(lock.token());
                LossReason reason = lock.onLost().get(30, TimeUnit.SECONDS);
                System.out.println(lock.isValid() + " " + reason);
                try {
                    lock.unlock();
                    System.out.println("released");
                } catch (IllegalMonitorStateException error) {
                    System.out.println(((DlockError) error).kind());
                }
            }
        }
    }

    @Test
    void aKilledHoldersLockComesFreeWithItsLease() throws Exception {
        try (Jvm holder = Jvm.start(Holder.class, server.url(), name, "1000")) {
            long token = Long.parseLong(holder.line());
            DistributedLock lock = connect(Options.defaults().pollInterval(Duration.ofMillis(200)))
                    .lock(name);
            holder.signal("KILL");
            long left = (Long) server.command("PTTL", name);
            Stopwatch watch = Stopwatch.start();
            assertThat(lock.tryLock(10, TimeUnit.SECONDS)).isTrue();
            // Not before the key expires, and not later than that, the poll, and some slack.
            assertThat(watch.elapsed()).isGreaterThanOrEqualTo(left - 50);
            assertThat(watch.unhindered()).isLessThanOrEqualTo(left + 200 + 300);
            assertThat(lock.token()).isGreaterThan(token);
            lock.unlock();
        }
    }

    @Test
    void aHolderStoppedPastItsLeaseKnowsItAtOnce() throws Exception {
        try (Jvm holder = Jvm.start(Holder.class, server.url(), name, "1000")) {
            long token = Long.parseLong(holder.line());
            holder.signal("STOP");
            DistributedLock lock = connect().lock(name);
            assertThat(lock.tryLock(10, TimeUnit.SECONDS)).isTrue();
            assertThat(lock.token()).isGreaterThan(token);
            holder.signal("CONT");
            assertThat(holder.line()).isEqualTo("false EXPIRED");
            assertThat(holder.line()).isIn("NOT_HELD", "LOST");
            holder.end();
            assertThat(lock.isValid()).isTrue();
            assertThat(lock.inspect().holder()).isEqualTo(lock.owner());
            lock.unlock();
        }
    }

    @Test
    void aBlackHoleCostsATimedTryItsOwnTimeAndNoMore() throws Exception {
        try (Proxy proxy = new Proxy(server)) {
            Client client =
                    closing(Dlock.connect(proxy.url(), Options.defaults().lease(Duration.ofSeconds(1))));
            DistributedLock lock = client.lock(name);
            lock.lock();
            CompletableFuture<LossReason> lost = lock.onLost();
            proxy.blackHole();
            Stopwatch watch = Stopwatch.start();
            DistributedLock other = client.lock(name + "-other");
            assertThatThrownBy(() -> {
                        if (!other.tryLock(500, TimeUnit.MILLISECONDS)) {
                            throw new AcquireTimeoutException(
                                    new Failure(Kind.BUSY.code(), "acquire", name, "not in time"));
                        }
                    })
                    .isInstanceOfAny(
                            ConnectionException.class, OutcomeUnknownException.class, AcquireTimeoutException.class);
            assertThat(watch.elapsed()).isGreaterThanOrEqualTo(450);
            assertThat(watch.unhindered()).isLessThanOrEqualTo(750);
            assertThat(lost.get(2, TimeUnit.SECONDS)).isEqualTo(LossReason.EXPIRED);
            assertThat(watch.unhindered()).isLessThan(1000);
        }
    }

    @Test
    void aReplyLostOnTheWayIsMadeGood() {
        try (Proxy proxy = new Proxy(server)) {
            DistributedLock lock = closing(Dlock.connect(proxy.url())).lock(name);
            for (int i = 0; i < 10; i++) {
                proxy.resetAtNextReplies(1);
                lock.lock();
                assertThat(lock.getHoldCount()).isEqualTo(1);
                proxy.resetAtNextReplies(1);
                lock.unlock();
                assertThat(server.command("EXISTS", name)).isEqualTo(0L);
            }
            assertThat(proxy.resetsLeft()).isZero();
        }
    }

    @Test
    void aSubscriptionKilledDuringAWaitCostsAPollAtMost() {
        try (RedisServer own = new RedisServer()) {
            DistributedLock held = closing(Dlock.connect(own.url())).lock(name);
            DistributedLock waiting = closing(Dlock.connect(own.url())).lock(name);
            held.lock();
            Background<?> waiter = Background.run(() -> {
                waiting.lock();
                waiting.unlock();
                return null;
            });
            String queue = "dlock_queue:{" + name + "}";
            Eventually.holds(
                    "the waiter stands in the queue and listens",
                    () -> own.command("ZCARD", queue).equals(1L)
                            && !own.command("PUBSUB", "CHANNELS", "dlock_inbox:*")
                                    .toString()
                                    .equals("[]"));
            own.command("CLIENT", "KILL", "TYPE", "pubsub");
            Stopwatch watch = Stopwatch.start();
            held.unlock();
            waiter.get();
            assertThat(watch.unhindered()).isLessThan(1200);
            assertThat(own.command("EXISTS", queue)).isEqualTo(0L);
        }
    }

    /** Takes the lock when its parent lets it go. */
    static final class Child {
        public static void main(String[] args) {
            try (Client client = Dlock.connect(args[0])) {
                DistributedLock lock = client.lock(args[1]);
                System.out.println("free: " + lock.tryLock());
                lock.lock();
                System.out.println(lock.token());
                lock.unlock();
            }
        }
    }

    /** A JVM never forks without an exec. */
    @Test
    void aChildProcessStartedWhileHoldingIsAStranger() throws Exception {
        DistributedLock lock =
                connect(Options.defaults().lease(Duration.ofSeconds(5))).lock(name);
        lock.lock();
        try (Jvm child = Jvm.start(Child.class, server.url(), name)) {
            assertThat(child.line()).isEqualTo("free: false");
            assertThat(new ProcessBuilder("true").start().waitFor()).isZero();
            awaitRenewals(lock::remaining);
            assertThat(lock.isValid()).isTrue();
            long token = lock.token();
            lock.unlock();
            assertThat(Long.parseLong(child.line())).isGreaterThan(token);
            child.end();
        }
    }
}
