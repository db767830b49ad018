package org.libdlock;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Test;
import org.libdlock.support.Background;
import org.libdlock.support.Eventually;
import org.libdlock.support.Jvm;

/** Permits without owners: anybody releases, nothing comes back by itself. */
class CountingSemaphoreTest extends WithServer {
    private static final String FROM_ONE = "1 to 2147483647";

    private DistributedCountingSemaphore made(Client client, int permits) {
        DistributedCountingSemaphore semaphore = client.countingSemaphore(name);
        assertThat(semaphore.trySetPermits(permits)).isTrue();
        return semaphore;
    }

    private static void refused(ThrowingCallable call, String allowed) {
        assertThatThrownBy(call)
                .isInstanceOfSatisfying(InvalidArgumentException.class, refused -> assertThat(refused.allowed())
                        .isEqualTo(allowed));
    }

    @Test
    void itIsMadeOnce() throws Exception {
        DistributedCountingSemaphore semaphore = connect().countingSemaphore(name);
        assertThat(semaphore.inspect()).isEqualTo(new CountingSemaphoreInspection(false, 0, 0));
        assertThat(semaphore.tryAcquire()).as("it is not there").isFalse();
        assertThat(semaphore.trySetPermits(0)).isTrue();
        assertThat(semaphore.inspect()).isEqualTo(new CountingSemaphoreInspection(true, 0, 0));
        assertThat(semaphore.trySetPermits(5)).isFalse();
        assertThat(semaphore.availablePermits()).isZero();
    }

    @Test
    void anyThreadOfAnyClientReleases() throws Exception {
        DistributedCountingSemaphore semaphore = made(connect(), 3);
        semaphore.acquire(3);
        Background.run(() -> {
                    semaphore.release(2);
                    return true;
                })
                .get();
        connect().countingSemaphore(name).release();
        assertThat(semaphore.availablePermits()).isEqualTo(3);
        semaphore.release();
        assertThat(semaphore.availablePermits()).as("also what nobody acquired").isEqualTo(4);
    }

    @Test
    void permitsAreAddedTakenAwayAndDrained() throws Exception {
        DistributedCountingSemaphore semaphore = connect().countingSemaphore(name);
        semaphore.addPermits(4);
        assertThat(semaphore.drainPermits()).isEqualTo(4);
        assertThat(semaphore.drainPermits()).isZero();
        semaphore.addPermits(-3);
        assertThat(semaphore.availablePermits()).isEqualTo(-3);
        semaphore.release(3);
        assertThat(semaphore.tryAcquire()).as("enough came back for none").isFalse();
        semaphore.addPermits(-2);
        assertThat(semaphore.drainPermits()).isEqualTo(-2);
        assertThat(semaphore.availablePermits()).isZero();
        semaphore.addPermits(Integer.MAX_VALUE);
        assertThat(semaphore.availablePermits()).isEqualTo(Integer.MAX_VALUE);
        assertThatThrownBy(semaphore::release)
                .isInstanceOf(InvalidArgumentException.class)
                .hasMessageContaining("2147483647");
        assertThat(semaphore.drainPermits()).isEqualTo(Integer.MAX_VALUE);
    }

    @Test
    void numbersOutOfRangeAreRefused() {
        DistributedCountingSemaphore semaphore = connect().countingSemaphore(name);
        for (int permits : new int[] {0, -1, Integer.MIN_VALUE}) {
            refused(() -> semaphore.acquire(permits), FROM_ONE);
            refused(() -> semaphore.acquireUninterruptibly(permits), FROM_ONE);
            refused(() -> semaphore.tryAcquire(permits), FROM_ONE);
            refused(() -> semaphore.tryAcquire(permits, Duration.ofSeconds(1)), FROM_ONE);
            refused(() -> semaphore.release(permits), FROM_ONE);
            for (CompletableFuture<?> future : List.of(
                    semaphore.acquireAsync(permits),
                    semaphore.tryAcquireAsync(permits),
                    semaphore.releaseAsync(permits))) {
                assertThat(future)
                        .failsWithin(Duration.ofSeconds(5))
                        .withThrowableThat()
                        .withCauseInstanceOf(InvalidArgumentException.class);
            }
        }
        refused(() -> semaphore.trySetPermits(-1), "0 to 2147483647");
        refused(() -> semaphore.addPermits(0), "1 to 2147483647, and as many below 0");
        refused(() -> semaphore.addPermits(Integer.MIN_VALUE), "1 to 2147483647, and as many below 0");
        assertThat(server.command("EXISTS", name)).isEqualTo(0L);
    }

    @Test
    void anotherKindOfKeyIsRefused() throws Exception {
        Client client = connect();
        client.semaphore(name, 2).acquire();
        DistributedCountingSemaphore semaphore = client.countingSemaphore(name);
        List<ThrowingCallable> calls = List.of(
                () -> semaphore.trySetPermits(1),
                semaphore::acquire,
                semaphore::tryAcquire,
                semaphore::release,
                () -> semaphore.addPermits(1),
                semaphore::drainPermits,
                semaphore::availablePermits,
                semaphore::inspect);
        for (ThrowingCallable call : calls) {
            assertThatThrownBy(call).isInstanceOf(WrongTypeException.class).hasMessageContaining(name);
        }
        client.semaphore(name, 2).release();
        assertThatThrownBy(() -> client.countingSemaphore("a{")).isInstanceOf(InvalidNameException.class);
        assertThatThrownBy(() -> client.countingSemaphore("\ud800")).isInstanceOf(InvalidNameException.class);
    }

    @Test
    void everyWaitHasAFuture() throws Exception {
        Client client = connect();
        DistributedCountingSemaphore semaphore = made(client, 2);
        assertThat(semaphore.acquireAsync()).succeedsWithin(Duration.ofSeconds(5));
        assertThat(semaphore.tryAcquireAsync().get()).isTrue();
        assertThat(semaphore.tryAcquireAsync().get()).isFalse();
        assertThat(semaphore.tryAcquireAsync(1, Duration.ofMillis(300)).get()).isFalse();
        CompletableFuture<Boolean> inTime = semaphore.tryAcquireAsync(2, Duration.ofHours(1));
        Eventually.holds("it waits", () -> client.stats().countingSemaphore().waiting() == 1);
        CompletableFuture<Void> behind = semaphore.acquireAsync(1);
        Eventually.holds("both wait", () -> client.stats().countingSemaphore().waiting() == 2);
        assertThat(semaphore.releaseAsync()).succeedsWithin(Duration.ofSeconds(5));
        assertThat(List.of(inTime.isDone(), behind.isDone()))
                .as("the first wants two")
                .containsOnly(false);
        assertThat(semaphore.releaseAsync(2)).succeedsWithin(Duration.ofSeconds(5));
        assertThat(inTime).succeedsWithin(Duration.ofSeconds(5)).isEqualTo(true);
        assertThat(behind).succeedsWithin(Duration.ofSeconds(5));
        assertThat(semaphore.availablePermits()).isZero();
    }

    @Test
    void aFutureThatIsGivenUpLeavesNothing() throws Exception {
        Client client = connect();
        DistributedCountingSemaphore semaphore = made(client, 0);
        CompletableFuture<Void> cancelled = semaphore.acquireAsync();
        CompletableFuture<Boolean> late = semaphore.tryAcquireAsync(1, Duration.ofHours(1));
        Eventually.holds("both wait", () -> client.stats().countingSemaphore().waiting() == 2);
        assertThat(cancelled.cancel(true)).isTrue();
        assertThatThrownBy(() -> late.get(20, TimeUnit.MILLISECONDS)).isInstanceOf(TimeoutException.class);
        Eventually.holds("their places are gone", () -> semaphore.inspect().queued() == 0);
        semaphore.release();
        assertThat(semaphore.tryAcquire()).isTrue();
    }

    @Test
    void aFutureCancelledAsItIsGrantedGivesBack() throws Exception {
        DistributedCountingSemaphore semaphore = made(connect(), 1);
        int granted = 0;
        for (int round = 0; round < 300; round++) {
            CompletableFuture<?> future =
                    round % 2 == 0 ? semaphore.acquireAsync() : semaphore.tryAcquireAsync(1, Duration.ofHours(1));
            // From before the request to after the reply.
            for (long until = System.nanoTime() + round * 2000L; System.nanoTime() < until; ) {
                Thread.onSpinWait();
            }
            if (!future.cancel(true)) {
                granted++;
                semaphore.release();
            }
            Eventually.holds("the one permit is there", () -> semaphore.availablePermits() == 1);
        }
        assertThat(granted).as("rounds in which the grant came first").isLessThan(300);
    }

    @Test
    void closingTheClientEndsItsWaiters() throws Exception {
        Client client = connect();
        DistributedCountingSemaphore semaphore = made(client, 0);
        List<Callable<Object>> ways = List.of(
                () -> {
                    semaphore.acquireUninterruptibly();
                    return "acquired";
                },
                () -> {
                    semaphore.acquire();
                    return "acquired";
                },
                () -> semaphore.tryAcquire(1, TimeUnit.HOURS),
                () -> semaphore.acquireAsync().join());
        List<Background<Object>> waiters = ways.stream().map(Background::run).toList();
        Eventually.holds("all wait", () -> client.stats().countingSemaphore().waiting() == ways.size());
        client.close();
        for (Background<Object> waiter : waiters) {
            Throwable thrown = waiter.thrown();
            assertThat(thrown.getCause() == null ? thrown : thrown.getCause()).isInstanceOf(ClosedException.class);
        }
        assertThatThrownBy(semaphore::tryAcquire).isInstanceOf(ClosedException.class);
        assertThatThrownBy(semaphore::release).isInstanceOf(ClosedException.class);
        assertThatThrownBy(() -> client.countingSemaphore(name)).isInstanceOf(ClosedException.class);
        DistributedCountingSemaphore others = connect().countingSemaphore(name);
        others.release();
        assertThat(others.tryAcquire()).as("nobody stands in front").isTrue();
    }

    @Test
    void aClientCountsWhatItsCountingSemaphoresDo() throws Exception {
        Client client = connect();
        DistributedCountingSemaphore semaphore = made(client, 1);
        semaphore.acquire();
        assertThat(semaphore.tryAcquire()).isFalse();
        Background<Boolean> waiter = Background.run(() -> semaphore.tryAcquire(1, TimeUnit.HOURS));
        Eventually.holds("one waits", () -> client.stats().countingSemaphore().waiting() == 1);
        semaphore.release();
        assertThat(waiter.get()).isTrue();
        CountingSemaphoreStats stats = client.stats().countingSemaphore();
        assertThat(List.of(stats.acquired(), stats.contended(), stats.waitTimeouts(), stats.released()))
                .containsExactly(2L, 1L, 1L, 1L);
        assertThat(stats.waitTime().count()).isEqualTo(2);
        assertThat(client.stats().semaphore().acquired()).isZero();
    }

    /** Acquires both permits and ends. */
    static final class Taking {
        public static void main(String[] args) throws Exception {
            Client client = Dlock.connect(args[0]);
            client.countingSemaphore(args[1]).acquire(2);
            System.out.println("acquired");
        }
    }

    @Test
    void permitsOfAJvmThatEndedStayAway() throws Exception {
        DistributedCountingSemaphore semaphore = made(connect(), 2);
        try (Jvm jvm = Jvm.start(Taking.class, server.url(), name)) {
            assertThat(jvm.end()).isEqualTo("acquired\n");
        }
        assertThat(semaphore.tryAcquire(200, TimeUnit.MILLISECONDS)).isFalse();
        semaphore.release(2);
        assertThat(semaphore.tryAcquire(2)).isTrue();
    }

    @Test
    void manyThreadsNeverHaveMoreThanThereAre() throws Exception {
        List<Client> clients = List.of(connect(), connect());
        made(clients.get(0), 5);
        AtomicInteger inside = new AtomicInteger();
        List<Background<Integer>> workers = new ArrayList<>();
        for (int i = 0; i < 16; i++) {
            DistributedCountingSemaphore semaphore = clients.get(i % 2).countingSemaphore(name);
            int permits = 1 + i % 3;
            workers.add(Background.run(() -> {
                int most = 0;
                for (int turn = 0; turn < 50; turn++) {
                    semaphore.acquire(permits);
                    most = Math.max(most, inside.addAndGet(permits));
                    Thread.onSpinWait();
                    inside.addAndGet(-permits);
                    semaphore.release(permits);
                }
                return most;
            }));
        }
        int most = 0;
        for (Background<Integer> worker : workers) {
            most = Math.max(most, worker.get());
        }
        assertThat(most).isBetween(2, 5);
        assertThat(connect().countingSemaphore(name).inspect()).isEqualTo(new CountingSemaphoreInspection(true, 5, 0));
    }
}
