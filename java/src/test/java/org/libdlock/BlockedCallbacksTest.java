package org.libdlock;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.libdlock.support.Background;
import org.libdlock.support.Eventually;
import org.libdlock.support.Uninterrupted;

/** More callbacks block than there are threads for callbacks: what waits for none of these goes on. */
class BlockedCallbacksTest extends WithServer {
    private static final int THREADS = 64;

    private final CountDownLatch never = new CountDownLatch(1);

    private static <T> T soon(CompletableFuture<T> future) throws Exception {
        return future.get(20, TimeUnit.SECONDS);
    }

    @BeforeEach
    void blockAllThreads() throws Exception {
        DistributedCountDownLatch gate = connect().latch(name + "-gate");
        gate.trySetCount(1);
        CountDownLatch entered = new CountDownLatch(THREADS);
        for (int i = 0; i < 2 * THREADS; i++) {
            gate.awaitAsync().thenRun(() -> {
                entered.countDown();
                Uninterrupted.run(() -> never.await(1, TimeUnit.HOURS));
            });
        }
        gate.countDown();
        assertThat(entered.await(20, TimeUnit.SECONDS)).isTrue();
    }

    @AfterEach
    void goOn() {
        never.countDown();
    }

    @Test
    void aLossIsToldInTime() throws Exception {
        DistributedLock lock = connect().lock(name);
        assertThat(lock.tryLock(null, Duration.ofMillis(500))).isTrue();
        assertThat(soon(lock.onLost())).isEqualTo(LossReason.EXPIRED);
    }

    @Test
    void aCallbackHearsOfALoss() throws Exception {
        LockHandle handle = connect().lock(name).acquire(null, Duration.ofMillis(500));
        CountDownLatch told = new CountDownLatch(1);
        handle.onLost().thenRun(told::countDown);
        assertThat(told.await(20, TimeUnit.SECONDS)).isTrue();
    }

    @Test
    void whoAsksForAReplyGetsIt() throws Exception {
        Client client = connect();
        RateLimiter limiter = client.rateLimiter(name, Rate.of(9, Duration.ofSeconds(1)));
        assertThat(soon(limiter.tryAcquireAsync(1)).allowed()).isTrue();
        LockHandle handle = client.lock(name).lockAsync().join();
        CompletableFuture<?> released = handle.releaseAsync();
        Eventually.holds("the release is done", released::isDone);
        assertThat(handle.isValid()).isFalse();
        CompletableFuture<LockHandle> another = client.lock(name).lockAsync();
        Eventually.holds("it is granted", () -> another.getNow(null) != null);
        soon(another.get().releaseAsync());
    }

    @Test
    void whatIsGivenUpIsGivenBack() throws Exception {
        Client client = connect();
        DistributedLock lock = client.lock(name);
        LockHandle holder = lock.acquire();
        CompletableFuture<LockHandle> needed = lock.lockAsync();
        needed.thenRun(() -> {});
        holder.release();
        Eventually.holds("it is granted", () -> client.stats().lock().acquired() == 2);
        assertThatThrownBy(() -> needed.get(50, TimeUnit.MILLISECONDS))
                .as("its callback has no thread")
                .isInstanceOf(TimeoutException.class);
        assertThat(Background.run(() -> lock.tryLock(20, TimeUnit.SECONDS)).get())
                .isTrue();
    }

    @Test
    void aConsumerGoesOn() throws Exception {
        DistributedQueue queue = connect().queue(name);
        CountDownLatch done = new CountDownLatch(3);
        try (QueueConsumer consumer = queue.consume(
                Runnable::run,
                job -> done.countDown(),
                ConsumerOptions.defaults().concurrency(2))) {
            for (int i = 0; i < 3; i++) {
                queue.put(NewJob.of("" + i));
            }
            assertThat(done.await(20, TimeUnit.SECONDS)).isTrue();
            Eventually.holds("they are acknowledged", () -> queue.counts().inFlight() == 0);
            assertThat(consumer.stop()).isTrue();
        }
    }
}
