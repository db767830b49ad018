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

/** Threads, objects, clients and JVMs that end while they hold permits or wait for them. */
class SemaphoreEndsTest extends WithServer {
    private Object taken() {
        return server.command("ZCARD", "{" + name + "}:timeout");
    }

    @Test
    void aThreadThatEndsWithPermitsIsNoticed() throws Exception {
        try (Logged logged = new Logged()) {
            DistributedSemaphore semaphore =
                    connect(Options.defaults().lease(Duration.ofMillis(1500))).semaphore(name, 3);
            Background.run(() -> {
                        semaphore.acquire();
                        semaphore.acquire(2);
                        return null;
                    })
                    .get();
            logged.awaitWarning("its holder went away");
            // Renewal has stopped: the lease runs out, and no sooner.
            assertThat(taken()).isEqualTo(3L);
            assertThat(semaphore.tryAcquire(3, 20, TimeUnit.SECONDS)).isTrue();
            semaphore.release(3);
        }
    }

    @Test
    void aThreadThatReleasedBeforeItEndedIsNotMentioned() throws Exception {
        try (Logged logged = new Logged()) {
            Client client = connect(Options.defaults().lease(Duration.ofMillis(1500)));
            DistributedSemaphore semaphore = client.semaphore(name, 3);
            Background.run(() -> {
                        semaphore.acquire();
                        semaphore.acquire(2);
                        semaphore.release(3);
                        semaphore.acquire();
                        semaphore.release();
                        return null;
                    })
                    .get();
            // One that does not release comes after it, and is noticed.
            Background.run(() -> {
                        client.semaphore(name + "-kept", 1).acquire();
                        return null;
                    })
                    .get();
            logged.awaitWarning("its holder went away");
            assertThat(logged.warned("\"" + name + "\"")).isFalse();
            assertThat(client.stats().semaphore().lost()).isEqualTo(1);
        }
    }

    /** What is kept for a thread that lives for ever must not grow with every semaphore that it has used. */
    @Test
    void nothingIsKeptForAThreadThatHoldsNothing() throws Exception {
        Client client = connect();
        DistributedSemaphore semaphore = client.semaphore(name, 3);
        Holders.Key key = new Holders.Key("semaphore", name);
        semaphore.acquire();
        semaphore.acquire(2);
        assertThat(client.holders().levels(key)).isNotNull();
        assertThat(semaphore.tryAcquire()).isFalse();
        assertThatThrownBy(() -> semaphore.acquire(4)).isInstanceOf(InvalidArgumentException.class);
        semaphore.release(2);
        assertThat(client.holders().levels(key)).as("one is held").isNotNull();
        semaphore.release();
        assertThat(client.holders().levels(key)).isNull();
        semaphore.take().release();
        assertThat(client.holders().levels(key)).as("a handle is no thread's").isNull();
        assertThat(semaphore.tryAcquire(1, 0, 100, TimeUnit.MILLISECONDS)).isTrue();
        Eventually.holds("it is lost", () -> !semaphore.isValid());
        assertThatThrownBy(semaphore::release).isInstanceOf(NotHeldException.class);
        assertThat(client.holders().levels(key)).as("also after a loss").isNull();
        semaphore.acquire();
        client.close(true);
        assertThatThrownBy(semaphore::release).isInstanceOf(ClosedException.class);
        assertThat(client.holders().levels(key)).as("also after the client").isNull();
    }

    @Test
    void aThreadThatEndsLeavesItsHandleHeld() throws Exception {
        DistributedSemaphore semaphore =
                connect(Options.defaults().lease(Duration.ofSeconds(5))).semaphore(name, 1);
        PermitsHandle handle = Background.run(() -> semaphore.take()).get();
        // Longer than the look for dead threads.
        awaitRenewals(handle::remaining);
        assertThat(handle.isValid()).isTrue();
        handle.close();
    }

    @Test
    void aPermitsHandleCollectedWhileItHoldsWarns() throws Exception {
        try (Logged logged = new Logged()) {
            DistributedSemaphore semaphore =
                    connect(Options.defaults().lease(Duration.ofMillis(1500))).semaphore(name, 1);
            semaphore.take().isValid();
            Eventually.holds("the handle is collected", () -> {
                System.gc();
                return logged.warned("its holder went away");
            });
            assertThat(semaphore.tryAcquire(20, TimeUnit.SECONDS)).isTrue();
            semaphore.release();
        }
    }

    @Test
    void aThreadsPermitsOutliveTheSemaphoreObject() throws Exception {
        Client client = connect(Options.defaults().lease(Duration.ofSeconds(5)));
        client.semaphore(name, 2).acquire(2);
        CompletableFuture<LossReason> lost = client.semaphore(name, 2).onLost();
        for (int i = 0; i < 10_000; i++) {
            client.semaphore(name, 2).getHoldCount();
        }
        System.gc();
        awaitRenewals(() -> client.semaphore(name, 2).remaining());
        assertThat(lost).isNotDone();
        client.semaphore(name, 2).release(2);
        assertThat(lost).as("it was released").failsWithin(Duration.ofSeconds(5));
        assertThat(lost).isCancelled();
        assertThat(taken()).isEqualTo(0L);
    }

    @Test
    void closingTheClientEndsItsWaiters() throws Exception {
        Client client = connect();
        DistributedSemaphore semaphore = client.semaphore(name, 1);
        semaphore.acquire();
        CompletableFuture<LossReason> lost = semaphore.onLost();
        List<Callable<Object>> ways = List.of(
                () -> {
                    semaphore.acquireUninterruptibly();
                    return "acquired";
                },
                () -> semaphore.tryAcquire(1, TimeUnit.HOURS),
                () -> semaphore.take(),
                () -> semaphore.takeAsync().join());
        List<Background<Object>> waiters = ways.stream().map(Background::run).toList();
        Eventually.holds("all wait", () -> client.stats().semaphore().waiting() == ways.size());
        client.close(true);
        for (Background<Object> waiter : waiters) {
            Throwable thrown = waiter.thrown();
            assertThat(thrown.getCause() == null ? thrown : thrown.getCause()).isInstanceOf(ClosedException.class);
        }
        assertThat(lost).succeedsWithin(Duration.ofSeconds(5)).isEqualTo(LossReason.CLOSED);
        assertThat(taken()).as("given back").isEqualTo(0L);
        assertThatThrownBy(semaphore::release).isInstanceOf(ClosedException.class);
        assertThatThrownBy(semaphore::tryAcquire).isInstanceOf(ClosedException.class);
        assertThatThrownBy(semaphore::inspect).isInstanceOf(ClosedException.class);
        assertThatThrownBy(() -> client.semaphore(name, 1)).isInstanceOf(ClosedException.class);
        assertThat(semaphore.getHoldCount()).isZero();
        assertThat(semaphore.isValid()).isFalse();
    }

    /** Holds two of three permits. */
    static final class Holding {
        public static void main(String[] args) throws Exception {
            Client client = Dlock.connect(args[0], Options.defaults().lease(Duration.ofSeconds(1)));
            DistributedSemaphore semaphore = client.semaphore(args[1], 3);
            semaphore.acquire();
            PermitsHandle handle = semaphore.take();
            System.out.println("holding");
            if (args[2].equals("wait")) {
                handle.onLost().get(1, TimeUnit.HOURS);
            }
        }
    }

    @Test
    void permitsOfAKilledJvmComeBack() throws Exception {
        DistributedSemaphore semaphore = connect().semaphore(name, 3);
        try (Jvm jvm = Jvm.start(Holding.class, server.url(), name, "wait")) {
            assertThat(jvm.line()).isEqualTo("holding");
            assertThat(semaphore.availablePermits()).isEqualTo(1);
            jvm.signal("KILL");
        }
        assertThat(semaphore.tryAcquire(3, 20, TimeUnit.SECONDS))
                .as("the lease of 1 s is over long before")
                .isTrue();
        semaphore.release(3);
    }

    @Test
    void aJvmEndsWithPermitsHeld() {
        try (Jvm jvm = Jvm.start(Holding.class, server.url(), name, "return")) {
            assertThat(jvm.end()).isEqualTo("holding\n");
        }
    }
}
