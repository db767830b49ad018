package org.libdlock;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.OptionalLong;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.junit.jupiter.api.Test;
import org.libdlock.support.Background;
import org.libdlock.support.Eventually;

/** Permits that belong to their object, got with and without a future. */
class PermitsHandleTest extends WithServer {
    private static <T> T soon(CompletableFuture<T> future) throws Exception {
        return future.get(20, TimeUnit.SECONDS);
    }

    @Test
    void permitsOfAHandleAreReleasedByAnotherThread() throws Exception {
        DistributedSemaphore semaphore = connect().semaphore(name, 3);
        PermitsHandle handle = semaphore.take(2);
        assertThat(handle.semaphore()).isSameAs(semaphore);
        assertThat(handle.owner()).endsWith("/2");
        assertThat(handle).hasToString("PermitsHandle[" + name + ", owner " + handle.owner() + "]");
        assertThat(handle.permits()).hasSize(2).doesNotHaveDuplicates().allMatch(id -> id.matches("[0-9a-f]{32}"));
        assertThat(server.command("ZCARD", "{" + name + "}:timeout")).isEqualTo(2L);
        assertThat(semaphore.getHoldCount()).as("no thread holds them").isZero();
        assertThatThrownBy(() -> semaphore.release(2)).isInstanceOf(NotHeldException.class);
        assertThat(semaphore.tryTake(2)).isNull();
        String owner = handle.owner();
        Background.run(() -> {
                    handle.release();
                    return null;
                })
                .get();
        assertThat(handle.owner()).isEqualTo(owner);
        assertThat(handle.permits()).isEmpty();
        assertThat(handle.isValid()).isFalse();
        assertThatThrownBy(handle::release)
                .isInstanceOf(NotHeldException.class)
                .hasMessageContaining("does not hold its permits any more");
        handle.close();
        assertThat(semaphore.availablePermits()).isEqualTo(3);
    }

    @Test
    void aThreadHasSeveralHandlesAtOnce() throws Exception {
        DistributedSemaphore semaphore = connect().semaphore(name, 6);
        try (PermitsHandle one = semaphore.take();
                PermitsHandle two = semaphore.take(2, Duration.ofSeconds(1), Duration.ofSeconds(5));
                PermitsHandle three = Objects.requireNonNull(semaphore.tryTake(3))) {
            assertThat(two.remaining()).isBetween(Duration.ofSeconds(3), Duration.ofSeconds(5));
            two.extend(Duration.ofMinutes(2));
            assertThat(two.remaining()).isGreaterThan(Duration.ofSeconds(100));
            assertThat(one.remaining()).isLessThan(Duration.ofSeconds(31));
            assertThat(three.permits()).hasSize(3);
            assertThat(semaphore.tryTake()).isNull();
            two.release();
            assertThat(semaphore.availablePermits()).isEqualTo(2);
            assertThat(three.isValid()).isTrue();
        }
        assertThat(semaphore.availablePermits()).isEqualTo(6);
    }

    @Test
    void aWaitForPermitsThatIsOverSaysWhatIsAvailable() throws Exception {
        DistributedSemaphore semaphore = connect().semaphore(name, 3);
        try (PermitsHandle handle = semaphore.take(2)) {
            for (Duration wait : new Duration[] {Duration.ofMillis(300), Duration.ZERO, Duration.ofSeconds(-1)}) {
                assertThatThrownBy(() -> semaphore.take(2, wait, null))
                        .isInstanceOf(AcquireTimeoutException.class)
                        .hasMessageContaining("\"" + name + "\"")
                        .hasMessageContaining("only 1 of 3 permits");
                assertThat(semaphore.takeAsync(2, wait, null))
                        .failsWithin(Duration.ofSeconds(5))
                        .withThrowableThat()
                        .withCauseInstanceOf(AcquireTimeoutException.class);
            }
            assertThat(handle.isValid()).isTrue();
        }
    }

    @Test
    void aLostHandleSaysSo() throws Exception {
        DistributedSemaphore semaphore = connect().semaphore(name, 1);
        PermitsHandle handle = semaphore.take(1, null, Duration.ofMillis(200));
        assertThat(soon(handle.onLost())).isEqualTo(LossReason.EXPIRED);
        assertThat(handle.remaining()).as("told a little before the end").isLessThan(Duration.ofMillis(50));
        assertThatThrownBy(handle::close).isInstanceOf(IllegalMonitorStateException.class);
        assertThat(soon(handle.onLost())).as("also after the end").isEqualTo(LossReason.EXPIRED);
        PermitsHandle released = soon(semaphore.takeAsync());
        CompletableFuture<LossReason> lost = released.onLost();
        released.close();
        assertThat(lost).failsWithin(Duration.ofSeconds(5));
        assertThat(lost).isCancelled();
    }

    @Test
    void anInterruptEndsTheWaitForPermits() throws Exception {
        DistributedSemaphore semaphore = connect().semaphore(name, 1);
        PermitsHandle handle = semaphore.take();
        Background<PermitsHandle> waiting = Background.run(semaphore::take).waits();
        waiting.thread().interrupt();
        assertThat(waiting.thrown()).isInstanceOf(InterruptedException.class);
        handle.close();
        assertThat(semaphore.tryAcquire()).as("nobody stands in front").isTrue();
        semaphore.release();
    }

    @Test
    void futuresBringPermits() throws Exception {
        DistributedSemaphore semaphore = connect().semaphore(name, 3);
        PermitsHandle held = soon(semaphore.takeAsync(2));
        assertThat(soon(semaphore.tryTakeAsync(2))).isNull();
        PermitsHandle last = Objects.requireNonNull(soon(semaphore.tryTakeAsync()));
        CompletableFuture<PermitsHandle> waiting = semaphore.takeAsync(3);
        soon(held.releaseAsync());
        last.release();
        try (PermitsHandle all = soon(waiting)) {
            assertThat(all.permits()).hasSize(3);
        }
    }

    @Test
    void aFutureGivenUpLeavesNothingBehind() throws Exception {
        Client client = connect();
        DistributedSemaphore semaphore = client.semaphore(name, 2);
        PermitsHandle held = semaphore.take();
        CompletableFuture<PermitsHandle> cancelled = semaphore.takeAsync(2);
        assertThat(cancelled.cancel(true)).isTrue();
        assertThat(cancelled.handle((got, error) -> error).get()).isInstanceOf(CancelledException.class);
        CompletableFuture<PermitsHandle> late = semaphore.takeAsync(2);
        assertThatThrownBy(() -> late.get(20, TimeUnit.MILLISECONDS)).isInstanceOf(TimeoutException.class);
        assertThat(late).isCancelled();
        CompletableFuture<PermitsHandle> timed = semaphore.takeAsync(2).orTimeout(20, TimeUnit.MILLISECONDS);
        assertThatThrownBy(() -> soon(timed))
                .isInstanceOf(ExecutionException.class)
                .hasCauseInstanceOf(TimeoutException.class);
        assertThat(semaphore.tryAcquire()).as("nobody stands in front").isTrue();
        semaphore.release();
        held.close();
        Eventually.holds("nothing is held", () -> client.stats().semaphore().held() == 0);
        assertThat(semaphore.availablePermits()).isEqualTo(2);
    }

    /** Cancelled at every moment between request and reply. */
    @Test
    void thousandsCancelledAtAnyMomentLeaveNoPermit() throws Exception {
        Client client = connect();
        DistributedSemaphore semaphore = client.semaphore(name, 10);
        for (int round = 0; round < 20; round++) {
            List<CompletableFuture<PermitsHandle>> futures = new ArrayList<>();
            for (int i = 0; i < 100; i++) {
                futures.add(semaphore.takeAsync(1 + i % 3));
            }
            for (int i = 0; i < 100; i++) {
                if (i % 10 == 0) {
                    Thread.onSpinWait();
                }
                futures.get(i).cancel(true);
                futures.get(i).thenAccept(PermitsHandle::close);
            }
        }
        Eventually.holds("all permits are back", () -> semaphore.inspect().equals(inspection(10)));
        assertThat(client.stats().semaphore().waiting()).isZero();
    }

    private static SemaphoreInspection inspection(long free) {
        return new SemaphoreInspection(OptionalLong.of(free), free, 0);
    }
}
