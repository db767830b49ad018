package org.libdlock;

import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;
import org.libdlock.internal.Hold;
import org.libdlock.internal.Native;

/**
 * A worker number that this process has leased, made by {@link Client#worker(String)}. No other process has it as long as it is valid, so
 * ids that are made under it are unique. The client renews the lease. May be used, and released, from any thread.
 *
 * <p>Close or release it. When it and its generators are collected, the number is given back in the background; when the process dies, it
 * is free again as soon as its lease is over.
 *
 * <pre>{@code
 * try (Worker worker = client.worker("orders")) {
 *     Snowflake ids = worker.snowflake();
 *     long order = ids.nextId();
 * }
 * }</pre>
 */
public final class Worker implements AutoCloseable {
    private final Client client;
    private final String pool;
    private final long number;
    private final int bits;
    private final NumberHandle held;

    Worker(Client client, String pool, Hold hold) {
        this.client = client;
        this.pool = pool;
        this.held = new NumberHandle(pool, client.port(), hold);
        this.number = held.ask(0L, Native::workerNumber);
        this.bits = held.ask(0L, Native::workerBits).intValue();
    }

    /**
     * The number.
     *
     * @return from 0; also after the end
     */
    public long number() {
        return number;
    }

    /**
     * How many bits the numbers of its pool have.
     *
     * @return 1 to 22
     */
    public int bits() {
        return bits;
    }

    /**
     * The name of its pool.
     *
     * @return without the client's key prefix
     */
    public String pool() {
        return pool;
    }

    /**
     * Whether it is still held for certain, by this machine's monotonic clock. No I/O.
     *
     * @return false from the end of the lease on, and after the release
     */
    public boolean isValid() {
        return held.isValid();
    }

    /**
     * How long it stays valid without another renewal. No I/O.
     *
     * @return zero when it is over
     */
    public Duration remaining() {
        return held.remaining();
    }

    /**
     * The signal that the number was lost, as {@link LeasedLock#onLost()} has it.
     *
     * @return completes with the reason; cancelled when the hold ends by a release
     */
    public CompletableFuture<LossReason> onLost() {
        return held.onLost();
    }

    /**
     * A generator of ids under this number, with the default layout.
     *
     * @return as {@link #snowflake(Layout)}
     */
    public Snowflake snowflake() {
        return under(null);
    }

    /**
     * A generator of ids under this number. No I/O. The low bits of the number are the layout's worker, those above them its datacenter.
     * Generators of one layout share their state. Each keeps the number until it is collected, or the number released.
     *
     * <p>Its ids are unique whatever the clocks of the machines do: its time begins at the server's, or behind the last id of the number's
     * holders before, and goes on by a monotonic clock. When the lease is over it throws {@link LockLostException}, also in the middle of a
     * batch, and after the release {@link NotHeldException}.
     *
     * @param layout {@link Layout#named}, or one of your own
     * @return a generator
     * @throws InvalidArgumentException for the layout, and when the number has more bits than its datacenter and worker together
     * @throws LockLostException when the number was lost
     * @throws NotHeldException when it was released
     * @throws ClockException when the server's time lies outside of what the layout has
     */
    public Snowflake snowflake(Layout layout) {
        Arguments.notNull(layout, "layout");
        return under(layout);
    }

    private Snowflake under(@Nullable Layout layout) {
        long[] numbers = layout == null ? null : layout.numbers();
        synchronized (held) {
            held.check("snowflake");
            return new Snowflake(client, Native.workerSnowflake(held.granted().handle(), numbers));
        }
    }

    /**
     * Gives the number back; its generators make no ids from here on.
     *
     * @throws NotHeldException when it was released before, or lost
     * @throws OutcomeUnknownException when no reply came; the hold is over all the same, and the lease runs out
     */
    public void release() {
        held.release();
    }

    /**
     * As {@link #release}, without waiting for it.
     *
     * @return completes when it is done; cancelling the future does not stop the release
     */
    public CompletableFuture<@Nullable Void> releaseAsync() {
        return held.releaseAsync();
    }

    /**
     * Gives the number back; does nothing when it was released before. Waits for a release that is under way.
     *
     * @throws NotHeldException when it was lost meanwhile, so that this does not go by unseen
     */
    @Override
    public void close() {
        held.close();
    }

    /** For a number that came when nobody wanted it any more. */
    void forget() {
        held.forget();
    }

    /** The pool and the number, for logs and debuggers. */
    @Override
    public String toString() {
        return "Worker[" + pool + ", number " + number + "]";
    }
}
