package org.libdlock;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.libdlock.support.Background;
import org.libdlock.support.Eventually;
import org.libdlock.support.Jvm;
import org.libdlock.support.Logged;
import org.libdlock.support.Proxy;

/** Consumers: jobs are done and acknowledged, come again when they fail, and none is lost at a stop. */
class QueueConsumerTest extends WithServer {
    private static final ConsumerOptions OPTIONS = ConsumerOptions.defaults();

    private final ExecutorService pool = Executors.newCachedThreadPool();

    @AfterEach
    void endPool() {
        pool.shutdownNow();
    }

    /** Of what waits no account is taken: a wait that is over leaves the line a little later. */
    private static long left(DistributedQueue queue) {
        QueueCounts counts = queue.counts();
        return counts.ready() + counts.delayed() + counts.inFlight() + counts.dead();
    }

    private static void await(CountDownLatch latch) {
        try {
            assertThat(latch.await(10, TimeUnit.SECONDS)).isTrue();
        } catch (InterruptedException interrupted) {
            throw new AssertionError(interrupted);
        }
    }

    @Test
    void eachJobIsDoneOnceAndAcknowledged() {
        DistributedQueue queue = connect().queue(name);
        queue.putMany(IntStream.range(0, 300).mapToObj(at -> NewJob.of("" + at)).toList());
        Queue<String> done = new ConcurrentLinkedQueue<>();
        try (QueueConsumer consumer =
                queue.consume(pool, job -> done.add(job.payloadAsString()), OPTIONS.concurrency(8))) {
            assertThat(consumer).hasToString("QueueConsumer[" + name + "]");
            Eventually.holds("all are done", () -> done.size() == 300);
        }
        assertThat(done).doesNotHaveDuplicates().hasSize(300);
        assertThat(left(queue)).isZero();
    }

    @Test
    void soManyJobsAreInHandAtATime() {
        DistributedQueue queue = connect().queue(name);
        queue.putMany(IntStream.range(0, 6).mapToObj(at -> NewJob.of("" + at)).toList());
        CountDownLatch three = new CountDownLatch(3);
        CountDownLatch go = new CountDownLatch(1);
        JobHandler handler = job -> {
            three.countDown();
            await(go);
        };
        try (QueueConsumer consumer = queue.consume(pool, handler, OPTIONS.concurrency(3))) {
            await(three);
            assertThat(queue.counts().inFlight()).isEqualTo(3);
            assertThat(queue.counts().ready()).isEqualTo(3);
            go.countDown();
            Eventually.holds(
                    "all are done",
                    () -> queue.counts().ready() + queue.counts().inFlight() == 0);
            assertThat(consumer.stop()).isTrue();
        }
    }

    @Test
    void aJobThatFailsComesAgainUntilItIsDead() {
        DistributedQueue queue = connect().queue(name, QueueOptions.defaults().maxAttempts(3));
        queue.put(NewJob.of("x").id("x"));
        AtomicInteger attempts = new AtomicInteger();
        Backoff backoff = new Backoff(Duration.ofMillis(20), Duration.ofMillis(40));
        JobHandler handler = job -> {
            assertThat(job.attempt()).isEqualTo(attempts.incrementAndGet());
            throw new java.io.IOException("secret of the user's");
        };
        try (Logged logged = new Logged();
                QueueConsumer consumer = queue.consume(pool, handler, OPTIONS.backoff(backoff))) {
            Eventually.holds("it is dead", () -> queue.counts().dead() == 1);
            logged.awaitWarning("\"x\" of queue \"" + name + "\" failed in its delivery 3");
            assertThat(consumer.stop()).isTrue();
        }
        assertThat(attempts).hasValue(3);
        ListedJob dead = queue.dead().list(1).get(0);
        assertThat(dead.reason()).isEqualTo("java.io.IOException");
    }

    @Test
    void theTextOfAnExceptionIsTheReasonWhereAsked() {
        DistributedQueue queue = connect().queue(name, QueueOptions.defaults().maxAttempts(1));
        List<RuntimeException> errors = List.of(
                new IllegalStateException("no route\nto \u001b[31mhost"),
                new IllegalStateException(),
                new IllegalArgumentException("ä".repeat(2_000)));
        for (int at = 0; at < errors.size(); at++) {
            queue.put(NewJob.of("x").id("" + at));
        }
        JobHandler handler = job -> {
            throw errors.get(Integer.parseInt(job.id()));
        };
        try (QueueConsumer consumer = queue.consume(pool, handler, OPTIONS.reason(ConsumerOptions.Reason.TEXT))) {
            Eventually.holds("all are dead", () -> queue.counts().dead() == errors.size());
            assertThat(consumer.stop()).isTrue();
        }
        List<String> reasons =
                queue.dead().list(10).stream().map(ListedJob::reason).sorted().toList();
        assertThat(reasons.get(0)).startsWith("java.lang.IllegalArgumentException: ää");
        assertThat(reasons.get(0).getBytes(java.nio.charset.StandardCharsets.UTF_8))
                .hasSize(1_024);
        assertThat(reasons.subList(1, 3))
                .containsExactly(
                        "java.lang.IllegalStateException",
                        "java.lang.IllegalStateException: no route\\nto \\u{1b}[31mhost");
    }

    @Test
    void aHandlerMayEndItsDeliveryItself() {
        DistributedQueue queue = connect().queue(name, QueueOptions.defaults().maxAttempts(1));
        queue.put(NewJob.of("x").id("x"));
        JobHandler handler = job -> {
            job.nack(null, "mine");
            throw new IllegalStateException();
        };
        try (QueueConsumer consumer = queue.consume(pool, handler)) {
            Eventually.holds("it is dead", () -> queue.counts().dead() == 1);
            assertThat(consumer.stop()).isTrue();
        }
        assertThat(queue.dead().list(1).get(0).reason()).isEqualTo("mine");
    }

    @Test
    void aJobThatIsLostMeanwhileComesAgain() {
        QueueOptions unrenewed = QueueOptions.defaults().lease(Duration.ofMillis(150));
        DistributedQueue queue = connect().queue(name, unrenewed);
        queue.put("x");
        Queue<Integer> attempts = new ConcurrentLinkedQueue<>();
        JobHandler handler = job -> {
            attempts.add(job.attempt());
            if (job.attempt() == 1) {
                Eventually.holds("it is lost", () -> !job.isValid());
            }
        };
        try (Logged logged = new Logged();
                QueueConsumer consumer = queue.consume(pool, handler)) {
            logged.awaitWarning("of queue \"" + name + "\" was lost, and the job may come again");
            Eventually.holds("it is done", () -> attempts.size() == 2 && left(queue) == 0);
            assertThat(consumer.stop()).isTrue();
        }
        assertThat(attempts).containsExactly(1, 2);
    }

    @Test
    void anErrorOfAHandlerIsAFailureOfItsJob() {
        DistributedQueue queue = connect().queue(name, QueueOptions.defaults().maxAttempts(1));
        queue.putMany(List.of(NewJob.of("a"), NewJob.of("b")));
        JobHandler handler = job -> {
            if (job.payloadAsString().equals("a")) {
                throw new StackOverflowError();
            }
            throw new InterruptedException();
        };
        try (QueueConsumer consumer = queue.consume(pool, handler)) {
            Eventually.holds("they are dead", () -> queue.counts().dead() == 2);
            assertThat(consumer.stop()).isTrue();
        }
        assertThat(queue.dead().list(2))
                .extracting(ListedJob::reason)
                .containsExactly("java.lang.StackOverflowError", "java.lang.InterruptedException");
    }

    @Test
    void theExecutorMayBeTheCaller() {
        DistributedQueue queue = connect().queue(name);
        queue.putMany(
                IntStream.range(0, 2_000).mapToObj(at -> NewJob.of("" + at)).toList());
        AtomicInteger done = new AtomicInteger();
        try (QueueConsumer consumer =
                queue.consume(Runnable::run, job -> done.incrementAndGet(), OPTIONS.concurrency(4))) {
            Eventually.holds("all are done", () -> done.get() == 2_000);
            assertThat(consumer.stop()).isTrue();
        }
        assertThat(left(queue)).isZero();
    }

    @Test
    void aStopFinishesWhatIsInHandAndTakesNoMore() throws Exception {
        DistributedQueue queue = connect().queue(name);
        queue.putMany(List.of(NewJob.of("a"), NewJob.of("b")));
        CountDownLatch begun = new CountDownLatch(1);
        CountDownLatch go = new CountDownLatch(1);
        QueueConsumer consumer = queue.consume(pool, job -> {
            begun.countDown();
            await(go);
        });
        await(begun);
        consumer.requestStop();
        assertThat(consumer.awaitEnd(Duration.ZERO)).isFalse();
        Background<Boolean> stopping = Background.run(consumer::stop).waits();
        go.countDown();
        assertThat(stopping.get()).isTrue();
        assertThat(consumer.awaitEnd(null)).isTrue();
        assertThat(queue.counts().ready()).isEqualTo(1);
        assertThat(left(queue)).isEqualTo(1);
        consumer.close();
    }

    @Test
    void whatIsNotDoneWithinTheGraceGoesBack() throws Exception {
        DistributedQueue queue = connect().queue(name);
        queue.put("x");
        CountDownLatch begun = new CountDownLatch(1);
        CountDownLatch go = new CountDownLatch(1);
        QueueConsumer consumer = queue.consume(
                pool,
                job -> {
                    begun.countDown();
                    await(go);
                    assertThat(job.isValid()).isFalse();
                },
                OPTIONS.grace(Duration.ofMillis(50)));
        await(begun);
        assertThat(consumer.stop()).isFalse();
        Delivery again = QueueTest.comes(queue);
        assertThat(again.attempt()).isEqualTo(2);
        go.countDown();
        assertThat(consumer.awaitEnd(Duration.ofSeconds(10))).isTrue();
        again.ack();
        assertThat(left(queue)).isZero();
    }

    @Test
    void anInterruptEndsTheGrace() {
        DistributedQueue queue = connect().queue(name);
        queue.put("x");
        CountDownLatch begun = new CountDownLatch(1);
        CountDownLatch go = new CountDownLatch(1);
        QueueConsumer consumer = queue.consume(pool, job -> {
            begun.countDown();
            await(go);
        });
        await(begun);
        Thread.currentThread().interrupt();
        assertThat(consumer.stop(Duration.ofHours(1))).isFalse();
        assertThat(Thread.interrupted()).as("the interrupt is kept").isTrue();
        assertThat(queue.counts().ready()).isEqualTo(1);
        go.countDown();
    }

    @Test
    void anIdleConsumerStopsAtOnceAndTakesNothing() throws Exception {
        DistributedQueue queue = connect().queue(name);
        QueueConsumer consumer = queue.consume(pool, job -> {}, OPTIONS.concurrency(50));
        Eventually.holds("it waits", () -> queue.counts().waiters() == 1);
        assertThat(consumer.stop(Duration.ofSeconds(5))).isTrue();
        assertThat(consumer.stop()).isTrue();
        queue.put("x");
        assertThat(queue.take(Duration.ofSeconds(5))).isNotNull();
    }

    @Test
    void aClosedClientEndsItWithTheError() throws Exception {
        Client client = connect();
        QueueConsumer consumer = client.queue(name).consume(pool, job -> {}, OPTIONS.concurrency(2));
        client.close();
        assertThatThrownBy(() -> consumer.awaitEnd(Duration.ofSeconds(10))).isInstanceOf(ClosedException.class);
        assertThatThrownBy(consumer::close).isInstanceOf(ClosedException.class);
    }

    @Test
    void anExecutorThatRefusesEndsItAndLosesNoJob() throws Exception {
        DistributedQueue queue = connect().queue(name);
        pool.shutdown();
        QueueConsumer consumer = queue.consume(pool, job -> {});
        queue.put("x");
        assertThatThrownBy(() -> consumer.awaitEnd(Duration.ofSeconds(10)))
                .isInstanceOf(RejectedExecutionException.class)
                .hasMessageContaining(name);
        Delivery back = QueueTest.comes(queue);
        assertThat(back.attempt()).as("it was not begun").isEqualTo(1);
    }

    @Test
    void aServerThatIsAwayIsAskedAgain() throws Exception {
        AtomicInteger done = new AtomicInteger();
        Proxy proxy = closing(new Proxy(server));
        Options options = Options.defaults().operationTimeout(Duration.ofSeconds(1));
        DistributedQueue queue = closing(Dlock.connect(proxy.url(), options)).queue(name);
        connect().queue(name).put("x");
        try (Logged logged = new Logged();
                QueueConsumer consumer = queue.consume(pool, job -> done.incrementAndGet())) {
            Eventually.holds("it is done", () -> done.get() == 1);
            proxy.blackHole();
            logged.awaitWarning("no job could be taken from queue \"" + name + "\"; the next attempt follows in PT");
            assertThat(consumer.awaitEnd(Duration.ZERO)).isFalse();
            assertThat(consumer.stop(Duration.ofSeconds(5)))
                    .as("a pause does not hold it up")
                    .isTrue();
        }
    }

    @Test
    void aStopDoesNotWaitForAServerThatIsAway() throws Exception {
        Proxy proxy = closing(new Proxy(server));
        Options options = Options.defaults().operationTimeout(Duration.ofSeconds(10));
        DistributedQueue queue = closing(Dlock.connect(proxy.url(), options)).queue(name);
        queue.putMany(List.of(NewJob.of("a"), NewJob.of("b")));
        CountDownLatch begun = new CountDownLatch(2);
        CountDownLatch go = new CountDownLatch(1);
        JobHandler handler = job -> {
            begun.countDown();
            await(go);
        };
        QueueConsumer consumer = queue.consume(pool, handler, OPTIONS.concurrency(2));
        await(begun);
        proxy.blackHole();
        long start = System.nanoTime();
        assertThat(consumer.stop(Duration.ofMillis(100))).isFalse();
        // The operation goes on, and has twice as long.
        assertThat(Duration.ofNanos(System.nanoTime() - start)).isLessThan(Duration.ofSeconds(5));
        go.countDown();
    }

    @Test
    void wrongOptionsAreRefused() {
        for (int jobs : new int[] {0, -1, 10_001}) {
            assertThatThrownBy(() -> OPTIONS.concurrency(jobs))
                    .isInstanceOf(InvalidArgumentException.class)
                    .hasMessageContaining("1 to 10000");
        }
        assertThatThrownBy(() -> OPTIONS.grace(Duration.ofMillis(-1))).isInstanceOf(InvalidArgumentException.class);
    }

    /** Does jobs until SIGTERM. */
    static final class Working {
        public static void main(String[] args) throws InterruptedException {
            ExecutorService pool = Executors.newFixedThreadPool(2);
            QueueConsumer consumer = Dlock.connect(args[0]).queue(args[1]).consume(pool, job -> {
                System.out.println("begins " + job.payloadAsString());
                Thread.sleep(500);
                System.out.println("ends " + job.payloadAsString());
            });
            Runtime.getRuntime().addShutdownHook(new Thread(consumer::close));
            consumer.awaitEnd(null);
        }
    }

    @Test
    void aSignalLetsTheJobInHandBeFinished() {
        DistributedQueue queue = connect().queue(name);
        queue.put("a");
        queue.put("b");
        try (Jvm jvm = Jvm.start(Working.class, server.url(), name)) {
            assertThat(jvm.line()).isEqualTo("begins a");
            jvm.signal("TERM");
            assertThat(jvm.line()).isEqualTo("ends a");
            assertThat(jvm.end(143)).isEmpty();
        }
        assertThat(queue.counts().ready()).isEqualTo(1);
        assertThat(left(queue)).isEqualTo(1);
    }

    @Test
    void aKilledConsumerLosesNoJob() throws Exception {
        DistributedQueue queue = connect().queue(name);
        queue.put("a");
        try (Jvm jvm = Jvm.start(Working.class, server.url() + "?lease=500ms", name)) {
            assertThat(jvm.line()).isEqualTo("begins a");
            jvm.signal("KILL");
            Delivery again = QueueTest.comes(queue);
            assertThat(again.attempt()).isEqualTo(2);
            again.ack();
        }
    }
}
