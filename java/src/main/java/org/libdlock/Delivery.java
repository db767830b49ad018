package org.libdlock;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Future;
import org.jspecify.annotations.Nullable;
import org.libdlock.internal.Delivered;
import org.libdlock.internal.Native;
import org.libdlock.internal.Port;
import org.libdlock.internal.Threads;
import org.libdlock.internal.Wire;

/**
 * A job that was delivered, made by {@link DistributedQueue#take()}. May be used, and ended, from any thread.
 *
 * <p>It is this worker's until {@link #ack}, which removes the job, or {@link #nack}, which puts it back; or until its lease ends, which the
 * client renews, and then the job comes again by itself. Closing it puts back a job that was not ended, so that one whose work threw comes
 * again:
 *
 * <pre>{@code
 * try (Delivery job = mails.take()) {
 *     send(job.payload());
 *     job.ack();
 * }
 * }</pre>
 *
 * <p>A delivery that is collected before it was ended goes back, too, and a warning is logged.
 */
public final class Delivery extends Leased {
    private final DistributedQueue queue;
    private final Delivered job;
    private final Freeing freeing;

    /** Whether it was ended, or is being ended; guarded by this. */
    private boolean ending;

    Delivery(DistributedQueue queue, Port port, Delivered job) {
        this(queue, port, job, new Freeing(job.hold.handle(), queue.name(), job.id));
    }

    private Delivery(DistributedQueue queue, Port port, Delivered job, Freeing freeing) {
        super("its job", queue.name(), port, job.hold, freeing);
        this.queue = queue;
        this.job = job;
        this.freeing = freeing;
    }

    /** With the handle of a delivery that was not ended its job goes back. */
    private static final class Freeing implements Runnable {
        private final long handle;
        private final String queue;
        private final String id;
        private volatile boolean ended;

        Freeing(long handle, String queue, String id) {
            this.handle = handle;
            this.queue = queue;
            this.id = id;
        }

        @Override
        public void run() {
            try {
                if (!ended && Native.heldValid(handle)) {
                    String message = "a delivery of job \"" + id + "\" of queue \"" + queue
                            + "\" was collected before it was ended: its job goes back";
                    System.getLogger("org.libdlock").log(System.Logger.Level.WARNING, message);
                }
            } finally {
                Native.free(handle);
            }
        }
    }

    @Override
    void atEnd(long held) {
        freeing.ended = true;
    }

    /**
     * The queue of the job.
     *
     * @return the one whose method gave this delivery
     */
    public DistributedQueue queue() {
        return queue;
    }

    /**
     * What was put.
     *
     * @return the bytes, each time the same array
     */
    public byte[] payload() {
        return job.payload;
    }

    /**
     * What was put, as text.
     *
     * @return the payload read as UTF-8
     */
    public String payloadAsString() {
        return new String(job.payload, StandardCharsets.UTF_8);
    }

    /**
     * The id of the job.
     *
     * @return the one with which it was put, or a new one
     */
    public String id() {
        return job.id;
    }

    /**
     * Which delivery of the job this is.
     *
     * @return from 1 on
     */
    public int attempt() {
        return job.attempt;
    }

    /**
     * When the job was due.
     *
     * @return by the server's clock, in whole milliseconds
     */
    public Instant due() {
        return Instant.ofEpochMilli(job.dueMillis);
    }

    /**
     * The priority with which it was put.
     *
     * @return -32768 to 32767
     */
    public int priority() {
        return job.priority;
    }

    /**
     * The fencing token: larger than that of any earlier delivery of this queue, below 2<sup>53</sup>.
     *
     * @return the token, also after the end
     */
    public long token() {
        return granted().token();
    }

    /**
     * Whether {@link #ack}, {@link #nack}, {@link #giveBack} or {@link #close} was called. One that was lost is not ended by that.
     *
     * @return true from the call on
     */
    public synchronized boolean isEnded() {
        return ending;
    }

    /**
     * The job is done: removes it from the queue. It works on a server that is full.
     *
     * @throws NotHeldException when the delivery was ended before, or was lost: then the job comes again, or has come to another worker,
     *     and nothing of that was touched
     * @throws OutcomeUnknownException when no reply came within {@code operation_timeout}: the delivery is over all the same, and the job
     *     may come again
     * @throws ConnectionException when the server was not reached; likewise
     */
    public void ack() {
        if (Threads.mayBlock()) {
            ackBlocking();
        } else {
            end("ack", Native::deliveryAck);
        }
    }

    /** Not under the monitor, which others need to look at the delivery while this waits for the server. */
    private void ackBlocking() {
        begin();
        try {
            check("ack");
            Native.deliveryAckBlocking(granted().handle());
        } catch (ClosedException closed) {
            // The handle may have been given back meanwhile, by a thread that ended it, too.
            check("ack");
            throw closed;
        } finally {
            told(Wire.DONE);
        }
    }

    /** The job is not done: puts it back, due at once and at its place. Else as {@link #nack(Duration, String)}. */
    public void nack() {
        end("nack", nacking(null, ""));
    }

    /**
     * The job is not done: puts it back. When it was delivered as often as it may be it is dead, and the dead list shows the reason. Other
     * errors as {@link #ack}.
     *
     * @param delay after how long it is due, 0 to 100 years in whole milliseconds; {@code null} is at once and at its place
     * @param reason why, of which 1,024 bytes of UTF-8 are kept; may be empty
     * @throws InvalidArgumentException for the delay, and for a text with a lone surrogate; it is held as before
     */
    public void nack(@Nullable Duration delay, String reason) {
        end("nack", nacking(delay, reason));
    }

    /** Puts back a job that was not begun, at its place; the delivery does not count. Errors as {@link #ack}. */
    public void giveBack() {
        end("give back", Native::deliveryGiveBack);
    }

    /**
     * As {@link #ack}, without holding up the calling thread.
     *
     * @return completes when it is done; cancelling the future does not stop it
     */
    public CompletableFuture<@Nullable Void> ackAsync() {
        return ackAsync(Port.Lane.CALLBACKS);
    }

    /**
     * As {@link #nack()}, without holding up the calling thread.
     *
     * @return completes when it is done; cancelling the future does not stop it
     */
    public CompletableFuture<@Nullable Void> nackAsync() {
        return nackAsync(null, "");
    }

    /**
     * As {@link #nack(Duration, String)}, without holding up the calling thread.
     *
     * @param delay as there
     * @param reason as there
     * @return completes when it is done; cancelling the future does not stop it
     */
    public CompletableFuture<@Nullable Void> nackAsync(@Nullable Duration delay, String reason) {
        return nackAsync(Port.Lane.CALLBACKS, delay, reason);
    }

    /**
     * As {@link #giveBack}, without holding up the calling thread.
     *
     * @return completes when it is done; cancelling the future does not stop it
     */
    public CompletableFuture<@Nullable Void> giveBackAsync() {
        return giveBackAsync(Port.Lane.CALLBACKS);
    }

    /**
     * Puts the job back as {@link #nack()} does, unless the delivery was ended before, or is being ended.
     *
     * @throws NotHeldException when it was lost meanwhile, so that this does not go by unseen
     */
    @Override
    public void close() {
        if (!isEnded()) {
            nack();
        }
    }

    CompletableFuture<@Nullable Void> ackAsync(Port.Lane lane) {
        return endAsync(lane, "ack", Native::deliveryAck);
    }

    CompletableFuture<@Nullable Void> nackAsync(Port.Lane lane, @Nullable Duration delay, String reason) {
        return endAsync(lane, "nack", nacking(delay, reason));
    }

    CompletableFuture<@Nullable Void> giveBackAsync(Port.Lane lane) {
        return endAsync(lane, "give back", Native::deliveryGiveBack);
    }

    private static Ending nacking(@Nullable Duration delay, String reason) {
        Arguments.notNull(reason, "reason");
        long millis = delay == null ? Arguments.NOT_GIVEN : Arguments.millis(delay);
        byte[] bytes = Arguments.textBytes(reason, "reason", "nack");
        return (port, id, held) -> Native.deliveryNack(port, id, held, millis, bytes);
    }

    private void end(String op, Ending operation) {
        boolean answered = false;
        begin();
        try {
            Object reply = port().call(by(op, operation));
            answered = true;
            Replies.check(told(reply));
        } finally {
            if (!answered) {
                goesOn();
            }
        }
    }

    private CompletableFuture<@Nullable Void> endAsync(Port.Lane lane, String op, Ending operation) {
        boolean begun = false;
        begin();
        try {
            CompletableFuture<@Nullable Void> answer = port().<@Nullable Void>startEnding(
                            lane, by(op, operation), reply -> Replies.NOTHING.apply(told(reply)));
            begun = true;
            return answer;
        } catch (DlockException refused) {
            return CompletableFuture.failedFuture(refused);
        } finally {
            if (!begun) {
                goesOn();
            }
        }
    }

    private Port.Submit by(String op, Ending operation) {
        return whileHeld(op, (to, id) -> operation.submit(to, id, granted().handle()));
    }

    synchronized void begin() {
        ending = true;
    }

    /** After what was to end it, and may have been refused. */
    void goesOnOrIsOver() {
        told(Wire.DONE);
    }

    /** What was to end it was refused before it began: unless another has ended it, it is as before. */
    private synchronized void goesOn() {
        ending = isOver();
    }

    /** Of a delay that is refused the delivery knows nothing, and is held as before. */
    private synchronized Object told(Object reply) {
        left(reply);
        goesOn();
        return reply;
    }

    /** For one that came when nobody wanted it any more. */
    void forget() {
        Future<?> unused = giveBackAsync().exceptionally(error -> {
            String message =
                    "a job that came too late was not confirmed as put back, and comes again when its lease is over";
            System.getLogger("org.libdlock").log(System.Logger.Level.WARNING, message, error);
            return null;
        });
    }

    /** The queue's name, the job's id and which delivery it is, for logs and debuggers; not the payload. */
    @Override
    public String toString() {
        return "Delivery[" + queue.name() + ", id " + id() + ", attempt " + attempt() + "]";
    }
}
