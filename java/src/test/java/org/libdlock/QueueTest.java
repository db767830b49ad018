package org.libdlock;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.libdlock.support.Background;
import org.libdlock.support.Eventually;
import org.libdlock.support.Logged;

/** Queues: jobs are put, come when they are due, and are ended; what cannot be is refused. */
class QueueTest extends WithServer {
    private static final Duration SOON = Duration.ofSeconds(5);

    private DistributedQueue queue() {
        return connect().queue(name);
    }

    static Delivery comes(DistributedQueue queue) throws InterruptedException {
        Delivery delivery = queue.take(SOON);
        if (delivery == null) {
            throw new AssertionError("no job came");
        }
        return delivery;
    }

    @Test
    void aJobOfOneClientIsDoneByAnother() throws Exception {
        DistributedQueue mine = queue();
        DistributedQueue theirs = queue();
        assertThat(mine.name()).isEqualTo(name);
        assertThat(mine).hasToString("DistributedQueue[" + name + "]");
        Instant before = Instant.now().minusSeconds(1);
        assertThat(mine.put(NewJob.of("é").id("one").priority(7))).isEqualTo(new PutResult("one", true));
        assertThat(mine.counts()).isEqualTo(new QueueCounts(1, 0, 0, 0, 0));
        Delivery job = comes(theirs);
        assertThat(job.payload()).isEqualTo("é".getBytes(StandardCharsets.UTF_8));
        assertThat(job.payloadAsString()).isEqualTo("é");
        assertThat(job.id()).isEqualTo("one");
        assertThat(job.attempt()).isEqualTo(1);
        assertThat(job.priority()).isEqualTo(7);
        assertThat(job.token()).isPositive();
        assertThat(job.due()).isBetween(before, Instant.now().plusSeconds(1));
        assertThat(job.queue()).isSameAs(theirs);
        assertThat(job).hasToString("Delivery[" + name + ", id one, attempt 1]");
        assertThat(job.isValid()).isTrue();
        assertThat(job.remaining()).isPositive();
        assertThat(job.isEnded()).isFalse();
        job.extend(Duration.ofMinutes(5));
        assertThat(job.remaining()).isGreaterThan(Duration.ofMinutes(4));
        CompletableFuture<LossReason> lost = job.onLost();
        job.ack();
        assertThat(job.isEnded()).isTrue();
        assertThat(job.isValid()).isFalse();
        assertThat(lost).failsWithin(SOON);
        assertThat(mine.counts()).isEqualTo(new QueueCounts(0, 0, 0, 0, 0));
        assertThatThrownBy(job::ack).isInstanceOf(NotHeldException.class);
        assertThatThrownBy(() -> job.extend(SOON)).isInstanceOf(NotHeldException.class);
        job.close();
    }

    @Test
    void jobsComeWhenTheyAreDueAndByPriority() throws Exception {
        DistributedQueue queue = queue();
        queue.put(NewJob.of("third").at(Instant.ofEpochMilli(1_000)));
        queue.put(NewJob.of("first").at(Instant.ofEpochMilli(1_000)).priority(1));
        queue.put(NewJob.of("second").at(Instant.EPOCH.minusSeconds(1)));
        queue.put(NewJob.of("late").delay(Duration.ofMillis(100)));
        queue.put(NewJob.of("later").delay(Duration.ofDays(1)));
        queue.put(NewJob.of("sub-millisecond").at(Instant.ofEpochMilli(1_000).plusNanos(1)));
        List<Delivery> due = queue.takeMany(100, Duration.ZERO);
        assertThat(due)
                .extracting(Delivery::payloadAsString)
                .containsExactly("first", "second", "third", "sub-millisecond");
        assertThat(due.get(3).due()).isEqualTo(Instant.ofEpochMilli(1_001));
        assertThat(queue.tryTake()).isNull();
        assertThat(comes(queue).payloadAsString()).isEqualTo("late");
        assertThat(queue.take(Duration.ofMillis(300))).isNull();
        assertThat(queue.counts().delayed()).isEqualTo(1);
        assertThat(queue.counts().inFlight()).isEqualTo(5);
    }

    @Test
    void aQueueOfAnotherClientDoesNotFollow() {
        DistributedQueue queue = queue();
        DistributedQueue other = connect().queue(name + "-other");
        assertThatThrownBy(() -> queue.followedBy(other)).isInstanceOf(InvalidArgumentException.class);
    }

    @Test
    void aJobWithAnIdIsPutOnceWhileItIsThere() throws Exception {
        DistributedQueue queue = queue();
        assertThat(queue.put(NewJob.of("a").id("one")).isNew()).isTrue();
        assertThat(queue.put(NewJob.of("b").id("one")).isNew()).isFalse();
        List<PutResult> puts = queue.putMany(
                List.of(NewJob.of("c").id("one"), NewJob.of("d"), NewJob.of("e").id("two")));
        assertThat(puts).extracting(PutResult::isNew).containsExactly(false, true, true);
        assertThat(puts.get(2).id()).isEqualTo("two");
        assertThat(puts.get(1).id()).isNotEmpty();
        assertThat(queue.putMany(List.of())).isEmpty();
        assertThat(queue.takeMany(10, SOON))
                .extracting(Delivery::payloadAsString)
                .containsExactly("a", "d", "e");
    }

    @Test
    void aJobThatIsNotAcknowledgedGoesBackAtTheEndOfTheBlock() throws Exception {
        DistributedQueue queue = queue();
        queue.put("x");
        assertThatThrownBy(() -> {
                    try (Delivery job = comes(queue)) {
                        throw new IllegalStateException("no " + job.payloadAsString());
                    }
                })
                .hasMessage("no x")
                .hasNoSuppressedExceptions();
        try (Delivery job = comes(queue)) {
            assertThat(job.attempt()).isEqualTo(2);
            job.giveBack();
        }
        try (Delivery job = comes(queue)) {
            assertThat(job.attempt()).as("what was given back does not count").isEqualTo(2);
            job.nack(Duration.ofMillis(20), "later");
            assertThat(queue.tryTake()).isNull();
        }
        try (Delivery job = comes(queue)) {
            assertThat(job.attempt()).isEqualTo(3);
            job.ack();
        }
        assertThat(queue.counts()).isEqualTo(new QueueCounts(0, 0, 0, 0, 0));
    }

    @Test
    void aNackThatIsRefusedLeavesTheDeliveryAsItIs() throws Exception {
        DistributedQueue queue = queue();
        queue.put("x");
        Delivery job = comes(queue);
        assertThatThrownBy(() -> job.nack(Duration.ofMillis(-1), "")).isInstanceOf(InvalidArgumentException.class);
        assertThatThrownBy(() -> job.nack(null, "\ud800")).hasMessageContaining("lone surrogate");
        assertThat(job.nackAsync(Duration.ofDays(40_000), ""))
                .failsWithin(SOON)
                .withThrowableThat()
                .withCauseInstanceOf(InvalidArgumentException.class);
        assertThat(job.isEnded()).isFalse();
        assertThat(job.isValid()).isTrue();
        job.close();
        assertThat(job.isEnded()).isTrue();
        assertThat(comes(queue).attempt()).isEqualTo(2);
    }

    @Test
    void theDeadAreListedRequeuedAndRemoved() throws Exception {
        DistributedQueue queue = connect().queue(name, QueueOptions.defaults().maxAttempts(1));
        Instant before = Instant.now().minusSeconds(1);
        for (String id : List.of("a", "b", "c")) {
            queue.put(NewJob.of("of " + id).id(id));
            comes(queue).nack(Duration.ofDays(1), "why " + id);
        }
        DeadJobs dead = queue.dead();
        assertThat(dead).hasToString("DeadJobs[" + name + "]");
        assertThat(dead.list(2)).extracting(ListedJob::id).containsExactly("a", "b");
        ListedJob last = dead.list(100).get(2);
        assertThat(last.reason()).isEqualTo("why c");
        assertThat(last.attempts()).isEqualTo(1);
        assertThat(last.payload()).isEqualTo("of c".getBytes(StandardCharsets.UTF_8));
        assertThat(last.payloadAsString()).isEqualTo("of c");
        assertThat(last.deadSince()).isAfterOrEqualTo(before);
        assertThat(last.due()).isBetween(before, Instant.now().plusSeconds(1));
        assertThat(last).hasToString("ListedJob[c, attempts 1]");
        assertThat(dead.remove("b")).isTrue();
        assertThat(dead.remove("b")).isFalse();
        assertThat(dead.requeue("b")).isFalse();
        assertThat(dead.requeue("c")).isTrue();
        ListedJob waiting = queue.peek(1).get(0);
        assertThat(waiting.id()).isEqualTo("c");
        assertThat(waiting.attempts()).isZero();
        assertThat(waiting.reason()).isNull();
        assertThat(waiting.deadSince()).isNull();
        assertThat(dead.requeueAll()).isEqualTo(1);
        assertThat(queue.takeMany(5, SOON)).hasSize(2).allSatisfy(job -> {
            assertThat(job.attempt()).isEqualTo(1);
            job.nack();
        });
        assertThat(dead.purge()).isEqualTo(2);
        assertThat(dead.purge()).isZero();
    }

    @Test
    void manyAreAcknowledgedTogether() throws Exception {
        Client client = connect();
        DistributedQueue queue = client.queue(name);
        DistributedQueue other = client.queue(name + "-other");
        queue.putMany(List.of(NewJob.of("1"), NewJob.of("2"), NewJob.of("3")));
        other.put("theirs");
        List<Delivery> jobs = queue.takeMany(3, SOON);
        Delivery theirs = comes(other);
        assertThatThrownBy(() -> queue.ackMany(List.of(jobs.get(0), theirs)))
                .isInstanceOf(InvalidArgumentException.class);
        assertThat(jobs.get(0).isEnded() || theirs.isEnded()).isFalse();
        jobs.get(1).ack();
        assertThat(queue.ackMany(jobs)).containsExactly(true, false, true);
        assertThat(jobs).allMatch(Delivery::isEnded).noneMatch(Delivery::isValid);
        assertThat(other.ackManyAsync(List.of(theirs))).succeedsWithin(SOON).isEqualTo(List.of(true));
        assertThat(queue.ackMany(List.of())).isEmpty();
        assertThat(queue.counts().inFlight()).isZero();
    }

    @Test
    void whatWaitsIsCancelledAndPurged() throws Exception {
        DistributedQueue queue = queue();
        queue.put(NewJob.of("1").id("a"));
        queue.put(NewJob.of("2").id("b").delay(Duration.ofDays(1)));
        queue.put(NewJob.of("3").id("c"));
        Delivery job = comes(queue);
        assertThatThrownBy(() -> queue.cancel("a")).isInstanceOf(NotHeldException.class);
        assertThat(queue.cancel("b")).isTrue();
        assertThat(queue.cancel("b")).isFalse();
        assertThat(queue.purge()).isEqualTo(1);
        job.ack();
    }

    @Test
    void eachVerbHasAFuture() throws Exception {
        DistributedQueue queue = connect().queue(name, QueueOptions.defaults().maxAttempts(2));
        CompletableFuture<Delivery> waiting = queue.takeAsync();
        assertThat(queue.putAsync(NewJob.of("x").id("x"))).succeedsWithin(SOON).isEqualTo(new PutResult("x", true));
        assertThat(waiting.get(5, TimeUnit.SECONDS).giveBackAsync()).succeedsWithin(SOON);
        assertThat(queue.takeAsync(SOON).get(5, TimeUnit.SECONDS).nackAsync()).succeedsWithin(SOON);
        Delivery last = queue.takeManyAsync(10, SOON).get(5, TimeUnit.SECONDS).get(0);
        assertThat(last.nackAsync(null, "why")).succeedsWithin(SOON);
        DeadJobs dead = queue.dead();
        assertThat(dead.listAsync(1).get(5, TimeUnit.SECONDS))
                .extracting(ListedJob::reason)
                .containsExactly("why");
        assertThat(dead.requeueAsync("x")).succeedsWithin(SOON).isEqualTo(true);
        assertThat(dead.requeueAllAsync()).succeedsWithin(SOON).isEqualTo(0L);
        assertThat(dead.removeAsync("x")).succeedsWithin(SOON).isEqualTo(false);
        assertThat(dead.purgeAsync()).succeedsWithin(SOON).isEqualTo(0L);
        assertThat(queue.peekAsync(10).get(5, TimeUnit.SECONDS))
                .extracting(ListedJob::id)
                .containsExactly("x");
        assertThat(queue.takeAsync(SOON).get(5, TimeUnit.SECONDS).ackAsync()).succeedsWithin(SOON);
        assertThat(queue.takeAsync(Duration.ZERO).get(5, TimeUnit.SECONDS)).isNull();
        assertThat(queue.putManyAsync(List.of(NewJob.of("a"), NewJob.of("b").id("b")))
                        .get(5, TimeUnit.SECONDS))
                .hasSize(2);
        assertThat(queue.cancelAsync("b")).succeedsWithin(SOON).isEqualTo(true);
        assertThat(queue.purgeAsync()).succeedsWithin(SOON).isEqualTo(1L);
        QueueCounts left = queue.countsAsync().get(5, TimeUnit.SECONDS);
        assertThat(left.ready() + left.delayed() + left.inFlight() + left.dead())
                .isZero();
    }

    @Test
    void aTakeThatIsGivenUpTakesNoJob() throws Exception {
        DistributedQueue queue = queue();
        assertThat(queue.takeAsync().cancel(false)).isTrue();
        Background<Delivery> interrupted = Background.run(queue::take).waits();
        interrupted.thread().interrupt();
        assertThat(interrupted.thrown()).isInstanceOf(InterruptedException.class);
        Thread.currentThread().interrupt();
        assertThatThrownBy(queue::take).isInstanceOf(InterruptedException.class);
        queue.put("x");
        assertThat(comes(queue).attempt()).isEqualTo(1);
    }

    @Test
    void aPutWakesAThreadThatWaits() throws Exception {
        DistributedQueue queue = queue();
        Background<Delivery> taking = Background.run(queue::take).waits();
        queue().put("now");
        assertThat(taking.get().payloadAsString()).isEqualTo("now");
    }

    @Test
    void aLostDeliverySaysSoAndComesAgain() throws Exception {
        DistributedQueue queue = connect().queue(name, QueueOptions.defaults().lease(Duration.ofMillis(150)));
        queue.put("x");
        Delivery lost = comes(queue);
        assertThat(lost.onLost()).succeedsWithin(SOON).isEqualTo(LossReason.EXPIRED);
        assertThat(lost.isEnded()).isFalse();
        DistributedQueue theirs = queue();
        Delivery again = comes(theirs);
        assertThat(lost.isValid()).isFalse();
        assertThat(again.attempt()).isEqualTo(2);
        assertThat(again.token()).isGreaterThan(lost.token());
        assertThatThrownBy(lost::ack).isInstanceOf(NotHeldException.class);
        assertThat(lost.onLost()).succeedsWithin(SOON).isEqualTo(LossReason.EXPIRED);
        assertThat(theirs.counts().inFlight()).isEqualTo(1);
        again.ack();
    }

    @Test
    void aDeliveryThatIsForgottenGoesBack() throws Exception {
        DistributedQueue queue = queue();
        queue.put("x");
        try (Logged logged = new Logged()) {
            forget(queue);
            Eventually.holds("the job is back", () -> {
                System.gc();
                return queue.counts().ready() == 1;
            });
            logged.awaitWarning("of queue \"" + name + "\" was collected before it was ended");
        }
        assertThat(comes(queue).attempt()).isEqualTo(2);
    }

    private static void forget(DistributedQueue queue) throws InterruptedException {
        assertThat(comes(queue).attempt()).isEqualTo(1);
    }

    @Test
    void payloadsOfEverySizeAreCarried() throws Exception {
        DistributedQueue queue = queue();
        for (int size : new int[] {0, 1, 65_536, 1 << 20}) {
            byte[] payload = new byte[size];
            for (int at = 0; at < size; at++) {
                payload[at] = (byte) (at * 31);
            }
            queue.put(payload);
            Delivery job = comes(queue);
            assertThat(job.payload()).isEqualTo(payload);
            job.ack();
        }
        assertThatThrownBy(() -> queue.put(new byte[(1 << 20) + 1])).isInstanceOf(InvalidArgumentException.class);
        List<NewJob> many =
                IntStream.range(0, 1_000).mapToObj(at -> NewJob.of("" + at)).toList();
        assertThat(queue.putMany(many)).hasSize(1_000).allMatch(PutResult::isNew);
        assertThat(queue.takeMany(100, SOON))
                .extracting(Delivery::payloadAsString)
                .startsWith("0", "1")
                .hasSize(100);
    }

    @Test
    void aFullQueueRefuses() throws Exception {
        DistributedQueue queue = connect().queue(name, QueueOptions.defaults().maxLength(1));
        queue.put("a");
        assertThatThrownBy(() -> queue.put("b")).isInstanceOf(QueueFullException.class);
        comes(queue).ack();
        assertThat(queue.put("b").isNew()).isTrue();
    }

    @Test
    void whatNoQueueCanBeOrDoIsRefused() {
        Client client = connect();
        QueueOptions options = QueueOptions.defaults();
        for (QueueOptions wrong : List.of(
                options.maxAttempts(0),
                options.maxAttempts(1_000_001),
                options.maxPayload(-1),
                options.maxPayload((2 << 20) + 1),
                options.maxLength(-1),
                options.lease(Duration.ofMillis(99)),
                options.watchdogLease(Duration.ofDays(2)),
                options.lease(SOON).watchdogLease(SOON))) {
            assertThatThrownBy(() -> client.queue(name, wrong)).isInstanceOf(InvalidArgumentException.class);
        }
        assertThatThrownBy(() -> client.queue("a{")).isInstanceOf(InvalidNameException.class);
        DistributedQueue queue = client.queue(name);
        NewJob job = NewJob.of("x");
        for (NewJob wrong : List.of(
                job.id(""),
                job.id("x".repeat(513)),
                job.priority(32_768),
                job.priority(Integer.MIN_VALUE),
                job.delay(Duration.ofMillis(-1)),
                job.delay(Duration.ofDays(40_000)),
                job.at(Instant.MAX),
                job.delay(SOON).at(Instant.now()))) {
            assertThatThrownBy(() -> queue.put(wrong)).isInstanceOf(InvalidArgumentException.class);
            assertThatThrownBy(() -> queue.putMany(List.of(job, wrong))).isInstanceOf(InvalidArgumentException.class);
        }
        assertThat(queue.counts().ready()).as("nothing of them was put").isZero();
        assertThatThrownBy(() -> NewJob.of("\ud800")).hasMessageContaining("lone surrogate");
        assertThatThrownBy(() -> job.id("\udc00")).hasMessageContaining("lone surrogate");
        assertThatThrownBy(() -> queue.putMany(Collections.singletonList(null)))
                .isInstanceOf(NullPointerException.class)
                .hasMessage("a job is null");
        for (int most : new int[] {0, -1, 101}) {
            assertThatThrownBy(() -> queue.takeMany(most, SOON)).isInstanceOf(InvalidArgumentException.class);
        }
        assertThatThrownBy(() -> queue.peek(0)).isInstanceOf(InvalidArgumentException.class);
        assertThatThrownBy(() -> queue.dead().list(1_001)).isInstanceOf(InvalidArgumentException.class);
        client.close();
        assertThatThrownBy(() -> queue.put("x")).isInstanceOf(ClosedException.class);
        assertThatThrownBy(queue::take).isInstanceOf(ClosedException.class);
    }

    @Test
    void aClosedClientEndsATake() {
        Client client = connect();
        Background<Delivery> taking = Background.run(client.queue(name)::take).waits();
        client.close();
        assertThat(taking.thrown()).isInstanceOf(ClosedException.class);
    }

    @Test
    void aBackOffDoublesUpToItsLongest() {
        Backoff backoff = new Backoff(Duration.ofMillis(100), Duration.ofMillis(300));
        assertThat(backoff.delay(1)).isBetween(Duration.ofMillis(50), Duration.ofMillis(100));
        assertThat(backoff.delay(2)).isBetween(Duration.ofMillis(100), Duration.ofMillis(200));
        assertThat(backoff.delay(99)).isBetween(Duration.ofMillis(150), Duration.ofMillis(300));
        assertThat(new Backoff(Duration.ZERO, Duration.ZERO).delay(5)).isEqualTo(Duration.ZERO);
        assertThatThrownBy(() -> new Backoff(SOON, Duration.ofSeconds(1))).isInstanceOf(InvalidArgumentException.class);
        assertThatThrownBy(() -> new Backoff(SOON.negated(), SOON)).isInstanceOf(InvalidArgumentException.class);
        assertThatThrownBy(() -> backoff.delay(-1)).isInstanceOf(InvalidArgumentException.class);
    }
}
