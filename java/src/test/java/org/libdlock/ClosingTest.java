package org.libdlock;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.libdlock.support.Background;
import org.libdlock.support.Eventually;
import org.libdlock.support.Logged;
import org.libdlock.support.Stopwatch;

/** A client that closes, calls after it has closed, and holds that end without a release. */
class ClosingTest extends WithServer {
    @Test
    void closeEndsEveryWaitWithin100Milliseconds() throws Exception {
        Client holder = connect();
        holder.lock(name).lock();
        Client client = connect();
        DistributedLock lock = client.lock(name);
        List<Background<?>> threads = new ArrayList<>();
        List<CompletableFuture<LockHandle>> futures = new ArrayList<>();
        for (int i = 0; i < 100; i++) {
            threads.add(Background.run(() -> {
                lock.lock();
                return null;
            }));
            threads.get(i).waits();
        }
        for (int i = 0; i < 900; i++) {
            futures.add(lock.lockAsync());
        }
        // As long as this takes where nothing is to be closed.
        CompletableFuture<Object> never = new CompletableFuture<>();
        List<Background<?>> others = new ArrayList<>();
        for (int i = 0; i < threads.size(); i++) {
            others.add(Background.run(never::join).waits());
        }
        Stopwatch plain = Stopwatch.start();
        never.completeExceptionally(new IllegalStateException());
        allEnded(others, Collections.nCopies(futures.size(), never), IllegalStateException.class);
        long usual = plain.elapsed();

        Stopwatch watch = Stopwatch.start();
        client.close();
        allEnded(threads, futures, ClosedException.class);
        // 100 ms is the promise; the rest is for a thousand threads and assertions.
        assertThat(watch.unhindered()).isLessThan(400 + usual);
        client.close();
        assertThat(client.isClosed()).isTrue();
    }

    private static void allEnded(
            List<Background<?>> threads,
            List<? extends CompletableFuture<?>> futures,
            Class<? extends Throwable> with) {
        for (Background<?> thread : threads) {
            Throwable thrown = thread.thrown();
            assertThat(thrown.getCause() == null ? thrown : thrown.getCause()).isInstanceOf(with);
        }
        for (CompletableFuture<?> future : futures) {
            assertThatThrownBy(() -> future.get(20, TimeUnit.SECONDS)).hasCauseInstanceOf(with);
        }
    }

    @Test
    void aClosedClientRefusesEverything() throws Exception {
        Client client = connect();
        DistributedLock lock = client.lock(name);
        lock.lock();
        CompletableFuture<LossReason> lost = lock.onLost();
        LockHandle handle = client.lock(name + "-async").lockAsync().get();
        client.close();
        assertThat(lost.get(1, TimeUnit.SECONDS)).isEqualTo(LossReason.CLOSED);
        assertThat(lock.isValid()).isFalse();
        assertThatThrownBy(lock::lock).isInstanceOf(ClosedException.class);
        assertThatThrownBy(lock::tryLock).isInstanceOf(ClosedException.class);
        assertThatThrownBy(lock::unlock).isInstanceOf(ClosedException.class);
        assertThatThrownBy(lock::inspect).isInstanceOf(ClosedException.class);
        assertThatThrownBy(lock::forceRelease).isInstanceOf(ClosedException.class);
        assertThatThrownBy(() -> lock.attach("x")).isInstanceOf(RuntimeException.class);
        assertThatThrownBy(handle::release).isInstanceOf(ClosedException.class);
        assertThatThrownBy(() -> client.lock(name)).isInstanceOf(ClosedException.class);
        assertThat(server.command("EXISTS", name)).as("the lease runs out").isEqualTo(1L);
    }

    @Test
    void closeReleasesWhenAsked() throws Exception {
        Client client = connect();
        client.lock(name).lock();
        client.lock(name + "-async").lockAsync().get();
        client.close(true);
        assertThat(server.command("EXISTS", name, name + "-async")).isEqualTo(0L);
    }

    @Test
    void aThreadThatEndsWhileItHoldsIsNoticed() {
        try (Logged logged = new Logged()) {
            Client client = connect(Options.defaults().lease(Duration.ofSeconds(4)));
            DistributedLock lock = client.lock(name);
            Background.run(() -> {
                        lock.lock();
                        lock.lock();
                        return null;
                    })
                    .get();
            logged.awaitWarning("its holder went away");
            // Renewal has stopped: the lease runs out, and no sooner.
            assertThat(server.command("EXISTS", name)).isEqualTo(1L);
            Eventually.holds(
                    "the lease runs out", () -> server.command("EXISTS", name).equals(0L));
            lock.lock();
            lock.unlock();
        }
    }

    @Test
    void aThreadThatEndsWithNothingIsNotMentioned() {
        try (Logged logged = new Logged()) {
            DistributedLock lock = connect().lock(name);
            Background.run(() -> {
                        lock.lock();
                        lock.unlock();
                        return lock.tryLock(1, TimeUnit.SECONDS);
                    })
                    .get();
            logged.awaitWarning("its holder went away");
            DistributedLock other = connect().lock(name + "-2");
            Background.run(() -> {
                        other.lock();
                        other.unlock();
                        return null;
                    })
                    .get();
            assertThat(logged.warned(name + "-2")).isFalse();
        }
    }

    @Test
    void aHandleCollectedWhileItHoldsWarns() throws Exception {
        try (Logged logged = new Logged()) {
            DistributedLock lock =
                    connect(Options.defaults().lease(Duration.ofMillis(500))).lock(name);
            lock.lockAsync().get().isValid();
            Eventually.holds("the handle is collected", () -> {
                System.gc();
                return logged.warned("its holder went away");
            });
            assertThat(lock.tryLock(20, TimeUnit.SECONDS)).isTrue();
            lock.unlock();
        }
    }

    @Test
    void aClientCollectedWhileOpenWarnsAndDisconnects() {
        try (Logged logged = new Logged()) {
            Dlock.connect(server.url(), Options.defaults().clientName(name))
                    .lock(name)
                    .tryLock();
            assertThat(server.command("CLIENT", "LIST").toString()).contains(name);
            Eventually.holds("the client is collected", () -> {
                System.gc();
                return logged.warned("a client was not closed");
            });
            Eventually.holds(
                    "its connections end",
                    () -> !server.command("CLIENT", "LIST").toString().contains(name));
        }
    }

    @Test
    void locksThatAreCollectedGiveTheirHandlesBack() {
        Client client = connect();
        DistributedLock kept = client.lock(name);
        kept.lock();
        for (int i = 0; i < 10_000; i++) {
            client.lock(name).getHoldCount();
        }
        System.gc();
        assertThat(kept.isHeldByCurrentThread()).isTrue();
        kept.unlock();
    }
}
