package org.libdlock;

import java.lang.ref.Reference;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;
import org.libdlock.internal.Judged;
import org.libdlock.internal.Native;
import org.libdlock.internal.NativeWait;
import org.libdlock.internal.Port;
import org.libdlock.internal.Threads;

/**
 * A rate limit of one name, made by {@link Client#rateLimiter(String, Rate)} and shared by all that any process makes of that name. May be
 * shared between threads.
 *
 * <p>It is judged by the server's clock. A decision is never asked for twice: one whose reply was lost throws
 * {@link OutcomeUnknownException} and counts as spent.
 */
public final class RateLimiter {
    private final Client client;
    private final String name;
    private final long handle;

    RateLimiter(Client client, String name, long handle) {
        this.client = client;
        this.name = name;
        this.handle = handle;
        Client.CLEANER.register(this, () -> Native.free(handle));
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
     * Takes one token if it is there now.
     *
     * @return the decision; a refusal is no exception
     */
    public Decision tryAcquire() {
        return tryAcquire(1);
    }

    /**
     * Takes tokens if they are there now. Does not wait, and is refused while others wait.
     *
     * @param cost 0 (asks how things stand for one token, and never waits) to the burst
     * @return the decision; a refusal is no exception
     * @throws InvalidArgumentException for a cost above the burst, which could never be granted
     */
    public Decision tryAcquire(long cost) {
        if (!Threads.mayBlock()) {
            return Decision.of(call((port, id) -> Native.limiterAcquire(port, id, handle, cost, 0)));
        }
        long[] numbers = new long[Judged.NUMBERS];
        return Decision.of(Judged.of(acquireBlocking(cost, 0, 0, numbers), numbers));
    }

    /**
     * Takes one token, waiting for it as long as it takes.
     *
     * @return the decision
     * @throws InterruptedException as {@link #acquire(long, Duration)}
     */
    public Decision acquire() throws InterruptedException {
        return acquire(1, null);
    }

    /**
     * Takes tokens, waiting for them. All that wait, in all processes, are served in the order in which their requests reach the
     * server; a wait that cannot be long enough is refused at once.
     *
     * @param cost 0 (asks how things stand for one token, and never waits) to the burst
     * @param wait zero or less does not wait; {@code null} waits for ever
     * @return the decision; a refusal is no exception
     * @throws InvalidArgumentException for a cost above the burst, which could never be granted
     * @throws InterruptedException when interrupted before or while waiting; the tokens may have been spent just then
     */
    public Decision acquire(long cost, @Nullable Duration wait) throws InterruptedException {
        long millis = Arguments.waitMillis(wait);
        if (Threads.mayBlock()) {
            long[] numbers = new long[Judged.NUMBERS];
            boolean allowed = NativeWait.interruptibly(cancel -> acquireBlocking(cost, millis, cancel, numbers));
            return Decision.of(Judged.of(allowed, numbers));
        }
        try {
            return Decision.of(client.port()
                    .callInterruptibly((port, id) -> Native.limiterAcquire(port, id, handle, cost, millis)));
        } finally {
            Reference.reachabilityFence(this);
        }
    }

    /**
     * As {@link #acquire(long, Duration)}, without holding up the calling thread.
     *
     * @param cost 0 (asks how things stand for one token, and never waits) to the burst
     * @param wait zero or less does not wait; {@code null} waits for ever
     * @return the decision; cancelling the future gives up the place in the line, and may have spent the tokens just then
     */
    public CompletableFuture<Decision> acquireAsync(long cost, @Nullable Duration wait) {
        long millis = Arguments.waitMillis(wait);
        try {
            Port.Submit call = (port, id) -> Native.limiterAcquire(port, id, handle, cost, millis);
            return client.port().startWaiting(call, Decision::of, spent -> {});
        } finally {
            Reference.reachabilityFence(this);
        }
    }

    /**
     * As {@link #tryAcquire(long)}, without holding up the calling thread.
     *
     * @param cost 0 (asks how things stand for one token, and never waits) to the burst
     * @return the decision
     */
    public CompletableFuture<Decision> tryAcquireAsync(long cost) {
        return acquireAsync(cost, Duration.ZERO);
    }

    /**
     * How things stand for one token, without spending any.
     *
     * @return the decision
     */
    public Decision peek() {
        return tryAcquire(0);
    }

    /** Fills the bucket, for everybody: for operators and tests. */
    public void reset() {
        Replies.check(call((port, id) -> Native.limiterReset(port, id, handle)));
    }

    private boolean acquireBlocking(long cost, long waitMillis, long cancel, long[] numbers) {
        try {
            return Native.limiterAcquireBlocking(handle, cost, waitMillis, cancel, numbers);
        } finally {
            Reference.reachabilityFence(this);
        }
    }

    private Object call(Port.Submit call) {
        try {
            return client.port().call(call);
        } finally {
            Reference.reachabilityFence(this);
        }
    }

    /** The name, for logs and debuggers. */
    @Override
    public String toString() {
        return "RateLimiter[" + name + "]";
    }
}
