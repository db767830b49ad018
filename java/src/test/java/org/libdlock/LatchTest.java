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
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Test;
import org.libdlock.support.Background;
import org.libdlock.support.Eventually;
import org.libdlock.support.Jvm;

/** What a latch of processes has beyond the JDK's: a count that is set, futures, a client that ends. */
class LatchTest extends WithServer {
    private static final long MAX_COUNT = (1L << 53) - 1;

    private static void refused(ThrowingCallable call) {
        assertThatThrownBy(call)
                .isInstanceOfSatisfying(InvalidArgumentException.class, refused -> assertThat(refused.allowed())
                        .isEqualTo("1 to 9007199254740991"));
    }

    @Test
    void aCountIsSetOnlyWhileTheLatchIsOpen() throws Exception {
        DistributedCountDownLatch latch = connect().latch(name);
        assertThat(latch.getCount()).as("there is none yet").isZero();
        latch.await();
        assertThat(latch.trySetCount(3)).isTrue();
        assertThat(latch.trySetCount(5)).isFalse();
        assertThat(latch.getCount()).isEqualTo(3);
        assertThat(latch.countDown(2)).isEqualTo(1);
        assertThat(latch.countDown(9)).isZero();
        assertThat(latch.trySetCount(MAX_COUNT)).isTrue();
        assertThat(latch.getCount()).isEqualTo(MAX_COUNT);
        assertThat(latch.countDown(MAX_COUNT - 1)).isEqualTo(1);
        assertThat(latch.delete()).isTrue();
        assertThat(latch.delete()).isFalse();
        assertThat(latch.getCount()).isZero();
    }

    @Test
    void numbersOutOfRangeAreRefused() {
        DistributedCountDownLatch latch = connect().latch(name);
        for (long count : new long[] {0, -1, Long.MIN_VALUE, MAX_COUNT + 1, Long.MAX_VALUE}) {
            refused(() -> latch.trySetCount(count));
            refused(() -> latch.countDown(count));
            for (CompletableFuture<?> future : List.of(latch.trySetCountAsync(count), latch.countDownAsync(count))) {
                assertThat(future)
                        .failsWithin(Duration.ofSeconds(5))
                        .withThrowableThat()
                        .withCauseInstanceOf(InvalidArgumentException.class);
            }
        }
        assertThat(server.command("EXISTS", name)).isEqualTo(0L);
    }

    @Test
    void anotherKindOfKeyIsRefused() throws Exception {
        Client client = connect();
        client.lock(name).lock();
        DistributedCountDownLatch latch = client.latch(name);
        List<ThrowingCallable> calls = List.of(
                () -> latch.trySetCount(1),
                latch::countDown,
                latch::getCount,
                latch::await,
                () -> latch.await(1, TimeUnit.SECONDS),
                latch::delete);
        for (ThrowingCallable call : calls) {
            assertThatThrownBy(call).isInstanceOf(WrongTypeException.class).hasMessageContaining(name);
        }
        client.lock(name).unlock();
        assertThatThrownBy(() -> client.latch("a{")).isInstanceOf(InvalidNameException.class);
        assertThatThrownBy(() -> client.latch("\ud800")).isInstanceOf(InvalidNameException.class);
    }

    @Test
    void everyVerbHasAFuture() throws Exception {
        DistributedCountDownLatch latch = connect().latch(name);
        assertThat(latch.awaitAsync()).as("open").succeedsWithin(Duration.ofSeconds(5));
        assertThat(latch.trySetCountAsync(3).get()).isTrue();
        assertThat(latch.trySetCountAsync(3).get()).isFalse();
        CompletableFuture<Void> opened = latch.awaitAsync();
        CompletableFuture<Boolean> inTime = latch.awaitAsync(Duration.ofHours(1));
        assertThat(latch.awaitAsync(Duration.ofMillis(300)).get()).isFalse();
        assertThat(latch.countDownAsync().get()).isEqualTo(2);
        assertThat(latch.getCountAsync().get()).isEqualTo(2);
        assertThat(List.of(opened.isDone(), inTime.isDone())).containsOnly(false);
        assertThat(latch.countDownAsync(2).get()).isZero();
        assertThat(opened).succeedsWithin(Duration.ofSeconds(5));
        assertThat(inTime).succeedsWithin(Duration.ofSeconds(5)).isEqualTo(true);
        assertThat(latch.deleteAsync().get()).isFalse();
    }

    @Test
    void aWaitByDurationIsTheSame() throws Exception {
        DistributedCountDownLatch latch = connect().latch(name);
        assertThat(latch.await((Duration) null)).isTrue();
        latch.trySetCount(1);
        assertThat(latch.await(Duration.ZERO)).isFalse();
        assertThat(latch.await(Duration.ofSeconds(-1))).isFalse();
        assertThat(latch.await(Duration.ofMillis(300))).isFalse();
    }

    @Test
    void aFutureThatIsGivenUpEndsItsWait() throws Exception {
        Client client = connect();
        DistributedCountDownLatch latch = client.latch(name);
        latch.trySetCount(1);
        CompletableFuture<Void> cancelled = latch.awaitAsync();
        CompletableFuture<Boolean> late = latch.awaitAsync(Duration.ofHours(1));
        Eventually.holds("both wait", () -> client.stats().latch().waiting() == 2);
        assertThat(cancelled.cancel(true)).isTrue();
        assertThatThrownBy(() -> late.get(20, TimeUnit.MILLISECONDS)).isInstanceOf(TimeoutException.class);
        Eventually.holds("none waits", () -> client.stats().latch().waiting() == 0);
        assertThat(client.stats().latch().cancelled()).isEqualTo(2);
        assertThat(latch.countDown(1)).isZero();
    }

    @Test
    void aWaiterOfAnotherClientIsWoken() throws Exception {
        DistributedCountDownLatch mine = connect().latch(name);
        mine.trySetCount(1);
        // Its timers would come no sooner than in a minute.
        Client client = connect(Options.defaults().pollInterval(Duration.ofMinutes(1)));
        Background<Boolean> waiter = Background.run(() -> client.latch(name).await(1, TimeUnit.HOURS));
        Eventually.holds("it waits", () -> client.stats().latch().waiting() == 1);
        mine.countDown();
        assertThat(waiter.get()).isTrue();
    }

    @Test
    void closingTheClientEndsItsWaiters() throws Exception {
        Client client = connect();
        DistributedCountDownLatch latch = client.latch(name);
        latch.trySetCount(1);
        List<Callable<Object>> ways = List.of(
                () -> {
                    latch.await();
                    return "open";
                },
                () -> latch.await(1, TimeUnit.HOURS),
                () -> latch.awaitAsync().join(),
                () -> latch.awaitAsync(Duration.ofHours(1)).join());
        List<Background<Object>> waiters = ways.stream().map(Background::run).toList();
        Eventually.holds("all wait", () -> client.stats().latch().waiting() == ways.size());
        client.close();
        for (Background<Object> waiter : waiters) {
            Throwable thrown = waiter.thrown();
            assertThat(thrown.getCause() == null ? thrown : thrown.getCause()).isInstanceOf(ClosedException.class);
        }
        assertThatThrownBy(latch::getCount).isInstanceOf(ClosedException.class);
        assertThatThrownBy(latch::await).isInstanceOf(ClosedException.class);
        assertThatThrownBy(() -> client.latch(name)).isInstanceOf(ClosedException.class);
        assertThat(connect().latch(name).getCount()).as("the count stays").isEqualTo(1);
    }

    @Test
    void aClientCountsWhatItsLatchesDo() throws Exception {
        Client client = connect();
        DistributedCountDownLatch latch = client.latch(name);
        latch.trySetCount(2);
        assertThat(latch.await(20, TimeUnit.MILLISECONDS)).isFalse();
        Background<Boolean> waiter = Background.run(() -> latch.await(1, TimeUnit.HOURS));
        Eventually.holds("one waits", () -> client.stats().latch().waiting() == 1);
        latch.countDown();
        latch.countDown();
        assertThat(waiter.get()).isTrue();
        LatchStats stats = client.stats().latch();
        assertThat(List.of(stats.countedDown(), stats.opened(), stats.waitTimeouts(), stats.cancelled()))
                .containsExactly(2L, 1L, 1L, 0L);
        assertThat(stats.waitTime().count()).isEqualTo(1);
    }

    /** Counts down once. */
    static final class Counting {
        public static void main(String[] args) throws Exception {
            try (Client client = Dlock.connect(args[0])) {
                System.out.println("left: " + client.latch(args[1]).countDown(1));
            }
        }
    }

    @Test
    void everyJvmCountsOnce() throws Exception {
        DistributedCountDownLatch latch = connect().latch(name);
        latch.trySetCount(3);
        Background<Boolean> waiter = Background.run(() -> latch.await(1, TimeUnit.HOURS));
        List<String> said = new ArrayList<>();
        for (int i = 0; i < 3; i++) {
            assertThat(waiter.isDone()).isFalse();
            try (Jvm jvm = Jvm.start(Counting.class, server.url(), name)) {
                said.add(jvm.end());
            }
        }
        assertThat(said).containsExactly("left: 2\n", "left: 1\n", "left: 0\n");
        assertThat(waiter.get()).isTrue();
    }

    @Test
    void theObjectMayBeForgottenWhileItIsWaitedFor() throws Exception {
        Client client = connect();
        client.latch(name).trySetCount(1);
        CompletableFuture<Void> opened = client.latch(name).awaitAsync();
        Background<Boolean> waiter = Background.run(() -> client.latch(name).await(1, TimeUnit.HOURS));
        Eventually.holds("both wait", () -> client.stats().latch().waiting() == 2);
        for (int i = 0; i < 1000; i++) {
            client.latch(name);
        }
        System.gc();
        client.latch(name).countDown();
        assertThat(opened).succeedsWithin(Duration.ofSeconds(5));
        assertThat(waiter.get()).isTrue();
    }
}
