package org.libdlock;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.libdlock.support.Background;
import org.libdlock.support.Eventually;

/** Worker numbers: leased, given back, lost; and generators under them. */
class WorkerTest extends WithServer {
    private static final WorkerOptions OF_TWO = WorkerOptions.defaults().bits(1);

    @Test
    void aNumberIsGivenBackAtTheEndOfTheBlock() throws Exception {
        Client client = connect();
        Snowflake ids;
        long last;
        try (Worker worker = client.worker(name)) {
            assertThat(worker.number()).isZero();
            assertThat(worker.bits()).isEqualTo(10);
            assertThat(worker.pool()).isEqualTo(name);
            assertThat(worker.isValid()).isTrue();
            assertThat(worker.remaining()).isBetween(Duration.ofSeconds(20), Duration.ofSeconds(30));
            assertThat(worker.onLost()).isNotDone();
            assertThat(worker).hasToString("Worker[" + name + ", number 0]");
            ids = worker.snowflake();
            long[] batch = ids.nextIds(5_000);
            assertThat(batch).isSorted().doesNotHaveDuplicates();
            last = batch[4_999];
            assertThat(ids.decode(last).worker()).isZero();
            assertThat(ids.layout()).isEqualTo(Layout.named("default"));
            Worker other = connect().worker(name);
            assertThat(other.number()).isEqualTo(1);
            Background.run(() -> {
                        other.release();
                        return null;
                    })
                    .get();
            assertThat(other.isValid()).isFalse();
            assertThat(other.remaining()).isZero();
            assertThatThrownBy(other::release)
                    .isInstanceOf(NotHeldException.class)
                    .hasMessageContaining("does not hold its number any more");
            assertThatThrownBy(other::snowflake).isInstanceOf(NotHeldException.class);
            other.close();
        }
        assertThatThrownBy(ids::nextId).isInstanceOf(NotHeldException.class);
        assertThatThrownBy(() -> ids.nextIds(3)).isInstanceOf(NotHeldException.class);
        try (Worker again = client.worker(name, WorkerOptions.defaults().lease(Duration.ofSeconds(5)))) {
            assertThat(again.number()).isZero();
            assertThat(again.remaining()).isLessThanOrEqualTo(Duration.ofSeconds(5));
            assertThat(again.snowflake(Layout.named("default")).nextId()).isGreaterThan(last);
        }
    }

    @Test
    void eachVerbHasAFuture() throws Exception {
        Client client = connect();
        Worker worker = client.workerAsync(name).get(20, TimeUnit.SECONDS);
        Worker other = client.workerAsync(name, WorkerOptions.defaults()).get(20, TimeUnit.SECONDS);
        assertThat(List.of(worker.number(), other.number())).containsExactly(0L, 1L);
        Snowflake ids = worker.snowflake();
        CompletableFuture<LossReason> lost = worker.onLost();
        worker.releaseAsync().get(20, TimeUnit.SECONDS);
        assertThat(lost).failsWithin(Duration.ofSeconds(20));
        assertThatThrownBy(ids::nextId).isInstanceOf(NotHeldException.class);
        assertThat(worker.releaseAsync()).failsWithin(Duration.ofSeconds(20));
        other.close();
    }

    @Test
    void aFutureThatIsCancelledLeavesNothingLeased() throws Exception {
        Client client = connect();
        for (int round = 0; round < 20; round++) {
            client.workerAsync(name, OF_TWO).cancel(true);
        }
        try (Worker one = whenFree(client);
                Worker two = whenFree(client)) {
            assertThat(List.of(one.number(), two.number())).containsExactlyInAnyOrder(0L, 1L);
        }
    }

    @Test
    void anExhaustedPoolSaysWhenTheNextMayBeFree() {
        Client client = connect();
        try (Worker one = client.worker(name, OF_TWO);
                Worker two = client.worker(name, OF_TWO)) {
            assertThat(one.number() + two.number()).isEqualTo(1);
            assertThatThrownBy(() -> client.worker(name, OF_TWO))
                    .isInstanceOfSatisfying(AcquireTimeoutException.class, busy -> assertThat(busy.retryAfter())
                            .isBetween(Duration.ofMillis(1), Duration.ofSeconds(31)));
            assertThat(client.workerAsync(name, OF_TWO))
                    .failsWithin(Duration.ofSeconds(20))
                    .withThrowableThat()
                    .withCauseInstanceOf(AcquireTimeoutException.class);
        }
    }

    @Test
    void aLostNumberIsToldAndMakesNoIds() throws Exception {
        Client client = connect();
        Worker worker = client.worker(name, WorkerOptions.defaults().lease(Duration.ofSeconds(1)));
        Snowflake ids = worker.snowflake();
        server.command("DEL", "dlock_id_pool:{" + name + "}");
        assertThat(worker.onLost().get(20, TimeUnit.SECONDS)).isEqualTo(LossReason.DELETED);
        assertThat(worker.isValid()).isFalse();
        assertThatThrownBy(ids::nextId).isInstanceOf(LockLostException.class);
        assertThatThrownBy(() -> ids.nextIds(10)).isInstanceOf(LockLostException.class);
        assertThatThrownBy(worker::snowflake).isInstanceOf(LockLostException.class);
        assertThatThrownBy(worker::close).isInstanceOf(NotHeldException.class);
        worker.close();
        assertThat(worker.onLost()).isCompletedWithValue(LossReason.DELETED);
    }

    @Test
    void theEndOfTheClientIsALoss() throws Exception {
        Client client = connect();
        Worker worker = client.worker(name);
        Snowflake ids = worker.snowflake();
        client.close(true);
        assertThat(worker.onLost().get(20, TimeUnit.SECONDS)).isEqualTo(LossReason.CLOSED);
        assertThatThrownBy(ids::nextId).isInstanceOf(LockLostException.class);
        assertThatThrownBy(worker::snowflake).isInstanceOf(LockLostException.class);
        assertThatThrownBy(() -> client.worker(name)).isInstanceOf(ClosedException.class);
        try (Worker next = connect().worker(name)) {
            assertThat(next.number()).as("it was given back").isZero();
        }
    }

    @Test
    void aGeneratorKeepsTheNumberOfACollectedWorker() throws Exception {
        Client client = connect();
        Snowflake[] ids = {client.worker(name, OF_TWO).snowflake()};
        try (Worker other = client.worker(name, OF_TWO)) {
            assertThat(other.number()).isEqualTo(1);
            for (int round = 0; round < 5; round++) {
                System.gc();
                Thread.sleep(10);
            }
            assertThatThrownBy(() -> client.worker(name, OF_TWO)).isInstanceOf(AcquireTimeoutException.class);
            assertThat(ids[0].nextId()).isPositive();
            ids[0] = new Snowflake(1, 1);
            try (Worker again = whenFree(client)) {
                assertThat(again.number()).isZero();
            }
        }
    }

    private Worker whenFree(Client client) {
        Worker[] leased = new Worker[1];
        Eventually.holds("the number is given back", () -> {
            System.gc();
            try {
                leased[0] = client.worker(name, OF_TWO);
                return true;
            } catch (AcquireTimeoutException taken) {
                return false;
            }
        });
        return leased[0];
    }

    @Test
    void whatNoWorkerNumberCanBeIsRefused() {
        Client client = connect();
        for (int bits : new int[] {0, -1, 23, Integer.MIN_VALUE}) {
            assertThatThrownBy(
                            () -> client.worker(name, WorkerOptions.defaults().bits(bits)))
                    .isInstanceOf(InvalidArgumentException.class)
                    .hasMessageContaining("1 to 22");
        }
        assertThatThrownBy(() -> client.worker(name, WorkerOptions.defaults().lease(Duration.ofMillis(99))))
                .isInstanceOf(InvalidArgumentException.class);
        assertThatThrownBy(() -> client.worker("")).isInstanceOf(InvalidNameException.class);
        try (Worker worker = client.worker(name)) {
            assertThatThrownBy(() -> worker.snowflake(Layout.named("js53")))
                    .isInstanceOf(InvalidArgumentException.class)
                    .hasMessageContaining("at most 5");
            assertThat(worker.isValid()).isTrue();
        }
    }
}
