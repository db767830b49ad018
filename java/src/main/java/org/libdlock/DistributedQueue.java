package org.libdlock;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.libdlock.internal.Delivered;
import org.libdlock.internal.Native;
import org.libdlock.internal.Port;
import org.libdlock.internal.Threads;
import org.libdlock.internal.Wire;

/**
 * A delayed queue of one name among all processes, made by {@link Client#queue(String)}. May be shared between threads.
 *
 * <p>A job is bytes. It waits until it is due and is delivered at least once: a job whose worker dies comes again. Jobs that are
 * due come by priority, the higher first, and then by due time; takers of all processes are served in the order of their arrival.
 *
 * <pre>{@code
 * DistributedQueue mails = client.queue("mails");
 * mails.put("to: ada");
 * mails.put(NewJob.of("to: bob").id("bob-1").delay(Duration.ofMinutes(1)));
 *
 * try (Delivery job = mails.take()) {
 *     send(job.payload());
 *     job.ack();
 * }
 * }</pre>
 *
 * <p>Each method that asks the server has a form with {@code Async} behind its name, which holds up no thread. Cancelling the future of a
 * take takes no job; cancelling any other may leave the operation done or not.
 */
public final class DistributedQueue {
    private static final long NO_CANCEL = 0;

    private final Client client;
    private final String name;
    private final NativeObject inner;

    /** The queues from which it takes when it has no job that is due. */
    private final List<DistributedQueue> then;

    DistributedQueue(Client client, String name, long handle) {
        this(client, name, handle, List.of());
    }

    private DistributedQueue(Client client, String name, long handle, List<DistributedQueue> then) {
        this.client = client;
        this.name = name;
        this.inner = new NativeObject(client, handle);
        this.then = then;
    }

    /**
     * The same queue, whose takes and consumers go on to another when no job of this queue is due: so an urgent job is taken before all usual
     * ones.
     *
     * <pre>{@code urgent.followedBy(usual).consume(pool, this::send)}</pre>
     *
     * <p>A take asks one queue after the other, and waits for all when none has a job that is due; {@link Delivery#queue} is the one that a
     * job is of. Puts, counts and lists are of this queue alone. No I/O.
     *
     * @param other a queue of the same client, which may be followed by others itself
     * @return a queue that takes from both
     * @throws InvalidArgumentException for a queue of another client
     */
    public DistributedQueue followedBy(DistributedQueue other) {
        Arguments.notNull(other, "other");
        List<DistributedQueue> all = new ArrayList<>(then);
        all.add(other);
        all.addAll(other.then);
        long both = inner.ask(first -> other.inner.ask(second -> Native.queueFollowedBy(first, second)));
        return new DistributedQueue(client, name, both, List.copyOf(all));
    }

    /** The one that a job is of: this, or one that follows it. */
    DistributedQueue of(Delivered delivered) {
        if (then.isEmpty()) {
            return this;
        }
        String of = new String(Native.deliveryQueue(delivered.hold.handle()), StandardCharsets.UTF_8);
        return then.stream()
                .filter(other -> !of.equals(name) && other.name.equals(of))
                .findFirst()
                .orElse(this);
    }

    /**
     * The name.
     *
     * @return without the client's key prefix
     */
    public String name() {
        return name;
    }

    /**
     * As {@link #put(NewJob)}, of a text that is due at once.
     *
     * @param payload its UTF-8 is what is put
     * @return the new id
     */
    public PutResult put(String payload) {
        return put(NewJob.of(payload));
    }

    /**
     * As {@link #put(NewJob)}, of bytes that are due at once.
     *
     * @param payload up to {@link QueueOptions#maxPayload}
     * @return the new id
     */
    public PutResult put(byte[] payload) {
        return put(NewJob.of(payload));
    }

    /**
     * Puts a job.
     *
     * @param job its payload, and what it is to have beside
     * @return its id, and whether it is new
     * @throws InvalidArgumentException for a value out of range
     * @throws QueueFullException when the queue has {@link QueueOptions#maxLength} jobs
     * @throws ConnectionException when the server was not reached, and nothing was put
     * @throws OutcomeUnknownException when it is not known what became of it: without an id after one lost reply, with one when no repeat
     *     was answered
     */
    public PutResult put(NewJob job) {
        if (!Threads.mayBlock()) {
            return QueueReplies.put(inner.call(putting(job), Object.class));
        }
        Arguments.notNull(job, "job");
        byte[] put = inner.ask(queue -> Native.queuePutBlocking(
                queue, job.payload(), job.id(), job.delayMillis(), job.atMillis(), job.priority()));
        return QueueReplies.put(Wire.answer(put));
    }

    /**
     * As {@link #put(NewJob)}, without holding up the calling thread.
     *
     * @param job as there
     * @return as there
     */
    public CompletableFuture<PutResult> putAsync(NewJob job) {
        return inner.start(putting(job), QueueReplies::put);
    }

    private static NativeObject.Operation putting(NewJob job) {
        Arguments.notNull(job, "job");
        return (port, id, queue) -> Native.queuePut(
                port, id, queue, job.payload(), job.id(), job.delayMillis(), job.atMillis(), job.priority());
    }

    /**
     * Puts jobs, in their order. Up to 100, and 1 MiB, go in one request, which puts all of its jobs or none; what earlier requests put
     * stays. Errors as {@link #put(NewJob)}; for a value out of range nothing is put.
     *
     * @param jobs any number
     * @return of each what {@link #put(NewJob)} says
     */
    public List<PutResult> putMany(Collection<NewJob> jobs) {
        return QueueReplies.puts(inner.call(puttingAll(jobs), Object.class));
    }

    /**
     * As {@link #putMany}, without holding up the calling thread.
     *
     * @param jobs as there
     * @return as there
     */
    public CompletableFuture<List<PutResult>> putManyAsync(Collection<NewJob> jobs) {
        return inner.start(puttingAll(jobs), QueueReplies::puts);
    }

    private static NativeObject.Operation puttingAll(Collection<NewJob> jobs) {
        Arguments.notNull(jobs, "jobs");
        List<byte[]> payloads = new ArrayList<>();
        List<byte[]> ids = new ArrayList<>();
        List<long[]> numbers = new ArrayList<>();
        for (NewJob job : jobs) {
            Arguments.notNull(job, "a job");
            byte[] id = job.id();
            payloads.add(job.payload());
            ids.add(id == null ? new byte[0] : id);
            numbers.add(new long[] {id == null ? 0 : 1, job.delayMillis(), job.atMillis(), job.priority()});
        }
        byte[] packed = Wire.pack(payloads);
        byte[] packedIds = Wire.pack(ids);
        long[] of = numbers.stream().flatMapToLong(java.util.Arrays::stream).toArray();
        return (port, id, queue) -> Native.queuePutMany(port, id, queue, packed, packedIds, of);
    }

    /**
     * Takes the first job that is due, waiting as long as it takes.
     *
     * @return the job, to be ended
     * @throws InterruptedException when interrupted before or while waiting; no job was taken
     * @throws ConnectionException when the server cannot be asked for {@code operation_timeout}
     * @throws OutcomeUnknownException when it was asked and did not answer; what it delivered all the same goes back and does not count
     * @throws ClosedException when the client is closed
     */
    public Delivery take() throws InterruptedException {
        return deliveries(taken(null)).get(0);
    }

    /**
     * Takes the first job that is due, within a time. Errors as {@link #take()}.
     *
     * @param wait zero or less does not wait; {@code null} waits for ever
     * @return the job, to be ended; null when there was none in that time
     * @throws InterruptedException when interrupted before or while waiting; no job was taken
     */
    public @Nullable Delivery take(@Nullable Duration wait) throws InterruptedException {
        return first(deliveries(taken(wait)));
    }

    /**
     * Takes a job without waiting; an interrupt is kept for later. Errors as {@link #take()}.
     *
     * @return the job, to be ended; null when none is due, or others wait in front
     */
    public @Nullable Delivery tryTake() {
        Object taken = Threads.mayBlock()
                ? inner.ask(queue -> Wire.answer(Native.queueTakeBlocking(queue, 0, NO_CANCEL)))
                : inner.call(taking(Duration.ZERO), Object.class);
        return first(deliveries(taken));
    }

    /**
     * Takes up to so many jobs: those that are due now, or the first that is within a time. Errors as {@link #take()}.
     *
     * @param most 1 to 100
     * @param wait zero or less does not wait; {@code null} waits for ever
     * @return the jobs, each to be ended; none when none was due in that time
     * @throws InvalidArgumentException for any other number
     * @throws InterruptedException when interrupted before or while waiting; no job was taken
     */
    public List<Delivery> takeMany(int most, @Nullable Duration wait) throws InterruptedException {
        return deliveries(inner.callInterruptibly(takingMany(most, wait)));
    }

    /**
     * As {@link #take()}, without holding up the calling thread.
     *
     * @return the job, to be ended; cancelling the future takes none, and so does a {@code get} that times out or is interrupted
     */
    public CompletableFuture<Delivery> takeAsync() {
        return takeAsync(Port.Lane.CALLBACKS);
    }

    /** As {@link #takeAsync()}; {@code lane} runs what depends on the future. */
    CompletableFuture<Delivery> takeAsync(Port.Lane lane) {
        return inner.startWaiting(lane, taking(null), reply -> deliveries(reply).get(0), Delivery::forget);
    }

    /**
     * As {@link #take(Duration)}, without holding up the calling thread.
     *
     * @param wait as there
     * @return the job, to be ended; null when there was none in that time. Cancelling as for {@link #takeAsync()}
     */
    public CompletableFuture<@Nullable Delivery> takeAsync(@Nullable Duration wait) {
        Function<Object, @Nullable Delivery> convert = new Function<Object, @Nullable Delivery>() {
            @Override
            public @Nullable Delivery apply(Object reply) {
                return first(deliveries(reply));
            }
        };
        return inner.<@Nullable Delivery>startWaiting(taking(wait), convert, late -> {
            if (late != null) {
                late.forget();
            }
        });
    }

    /**
     * As {@link #takeMany}, without holding up the calling thread.
     *
     * @param most as there
     * @param wait as there
     * @return the jobs, each to be ended; cancelling as for {@link #takeAsync()}
     */
    public CompletableFuture<List<Delivery>> takeManyAsync(int most, @Nullable Duration wait) {
        return inner.startWaiting(takingMany(most, wait), this::deliveries, late -> late.forEach(Delivery::forget));
    }

    /**
     * The jobs of these deliveries are done: removes them from the queue, by one request for each 100. Errors as {@link Delivery#ack}: the
     * deliveries are over all the same, and their jobs may come again.
     *
     * @param deliveries any number, of this queue and client
     * @return of each true, or false when it was ended before, or was lost: then its job comes again, or has come to another worker, and
     *     nothing of that was touched
     * @throws InvalidArgumentException when one is of another queue or client; all are held as before
     */
    public List<Boolean> ackMany(Collection<Delivery> deliveries) {
        Acknowledgements acks = new Acknowledgements(deliveries);
        try {
            return acks.answers(inner.call(acks.begin(), boolean[].class));
        } finally {
            acks.told();
        }
    }

    /**
     * As {@link #ackMany}, without holding up the calling thread.
     *
     * @param deliveries as there
     * @return as there; cancelling the future does not stop it
     */
    public CompletableFuture<List<Boolean>> ackManyAsync(Collection<Delivery> deliveries) {
        Acknowledgements acks = new Acknowledgements(deliveries);
        boolean begun = false;
        try {
            CompletableFuture<List<Boolean>> answers = inner.startEnding(acks.begin(), reply -> {
                acks.told();
                return acks.answers(Replies.of(reply, boolean[].class));
            });
            begun = true;
            return answers;
        } finally {
            if (!begun) {
                acks.told();
            }
        }
    }

    private Object taken(@Nullable Duration wait) throws InterruptedException {
        if (!Threads.mayBlock()) {
            return inner.callInterruptibly(taking(wait));
        }
        long millis = Arguments.waitMillis(wait);
        return inner.askInterruptibly((queue, cancel) -> Wire.answer(Native.queueTakeBlocking(queue, millis, cancel)));
    }

    private static NativeObject.Operation taking(@Nullable Duration wait) {
        long millis = Arguments.waitMillis(wait);
        return (port, id, queue) -> Native.queueTake(port, id, queue, millis);
    }

    private static NativeObject.Operation takingMany(int most, @Nullable Duration wait) {
        long millis = Arguments.waitMillis(wait);
        return (port, id, queue) -> Native.queueTakeMany(port, id, queue, most, millis);
    }

    private List<Delivery> deliveries(Object reply) {
        return QueueReplies.deliveries(this, inner.port(), reply);
    }

    private static @Nullable Delivery first(List<Delivery> deliveries) {
        return deliveries.isEmpty() ? null : deliveries.get(0);
    }

    /**
     * Has a handler do the jobs, one at a time, as {@link #consume(Executor, JobHandler, ConsumerOptions)}.
     *
     * @param executor runs the handler
     * @param handler does a job
     * @return the consumer, to be closed
     */
    public QueueConsumer consume(Executor executor, JobHandler handler) {
        return consume(executor, handler, ConsumerOptions.defaults());
    }

    /**
     * Has a handler do the jobs. The consumer takes jobs at once, and holds up no thread while there are none.
     *
     * <p>When the handler returns, the job is acknowledged; when it throws, the job is put back after a back-off, with the name of the
     * exception's class as the reason, or what {@link ConsumerOptions#reason} says, and a warning is logged.
     *
     * @param executor runs the handler; the consumer does not shut it down
     * @param handler does a job
     * @param options how many jobs at once, the back-off, the grace of a stop
     * @return the consumer, to be closed
     */
    public QueueConsumer consume(Executor executor, JobHandler handler, ConsumerOptions options) {
        Arguments.notNull(executor, "executor");
        Arguments.notNull(handler, "handler");
        Arguments.notNull(options, "options");
        QueueConsumer consumer = new QueueConsumer(this, executor, handler, options);
        consumer.start();
        return consumer;
    }

    /**
     * Removes a job that waits.
     *
     * @param id the id of the job
     * @return false when no job with this id waits
     * @throws NotHeldException when it is being done
     * @throws OutcomeUnknownException when no reply came
     */
    public boolean cancel(String id) {
        return inner.call(cancelling(id), Boolean.class);
    }

    /**
     * As {@link #cancel}, without holding up the calling thread.
     *
     * @param id as there
     * @return as there
     */
    public CompletableFuture<Boolean> cancelAsync(String id) {
        return inner.start(cancelling(id), Replies.to(Boolean.class));
    }

    private static NativeObject.Operation cancelling(String id) {
        byte[] bytes = NewJob.idBytes(id, "cancel");
        return (port, op, queue) -> Native.queueCancel(port, op, queue, bytes);
    }

    /**
     * The first jobs that wait, due or not, in their order.
     *
     * @param most 1 to 1,000
     * @return so many, or fewer where there are no more, or where they are 1 MiB together
     * @throws InvalidArgumentException for any other number
     */
    public List<ListedJob> peek(int most) {
        return QueueReplies.listed(inner.call(peeking(most), Object.class));
    }

    /**
     * As {@link #peek}, without holding up the calling thread.
     *
     * @param most as there
     * @return as there
     */
    public CompletableFuture<List<ListedJob>> peekAsync(int most) {
        return inner.start(peeking(most), QueueReplies::listed);
    }

    private static NativeObject.Operation peeking(int most) {
        return (port, id, queue) -> Native.queuePeek(port, id, queue, most);
    }

    /**
     * How many jobs there are. Costs the same however many that is.
     *
     * @return the numbers of one instant
     */
    public QueueCounts counts() {
        return inner.call(Native::queueCounts, QueueCounts.class);
    }

    /**
     * As {@link #counts}, without holding up the calling thread.
     *
     * @return the numbers of one instant
     */
    public CompletableFuture<QueueCounts> countsAsync() {
        return inner.start(Native::queueCounts, Replies.to(QueueCounts.class));
    }

    /**
     * Removes all jobs that wait, due or not. Deliveries go on, and the dead list stays.
     *
     * @return how many
     * @throws OutcomeUnknownException when no reply came
     */
    public long purge() {
        return inner.call(Native::queuePurge, Long.class);
    }

    /**
     * As {@link #purge}, without holding up the calling thread.
     *
     * @return how many
     */
    public CompletableFuture<Long> purgeAsync() {
        return inner.start(Native::queuePurge, Replies.to(Long.class));
    }

    /**
     * The dead list: jobs that were delivered as often as they may be. No I/O.
     *
     * @return a view of it
     */
    public DeadJobs dead() {
        return new DeadJobs(name, inner);
    }

    /** The name, for logs and debuggers. */
    @Override
    public String toString() {
        return "DistributedQueue[" + name + "]";
    }
}
