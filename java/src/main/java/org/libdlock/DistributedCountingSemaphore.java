package org.libdlock;

import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.libdlock.internal.Native;

/**
 * Permits of one name without owner or lease, as Redisson's {@code RSemaphore} has them, made by {@link Client#countingSemaphore(String)}:
 * for fleets that share one with Redisson. May be shared between threads.
 *
 * <p>Nobody holds a permit: anybody may release, as with {@link java.util.concurrent.Semaphore}, also permits that nobody acquired, and
 * permits of a process that died never come back by themselves. Where no Redisson client has to share it, use a
 * {@link DistributedSemaphore}.
 *
 * <p>A semaphore that is not on the server has no permits: {@link #trySetPermits} makes it. Waiters are served in the order of arrival.
 */
public final class DistributedCountingSemaphore {
    private final String name;
    private final NativeObject inner;

    DistributedCountingSemaphore(Client client, String name, long handle) {
        this.name = name;
        this.inner = new NativeObject(client, handle);
    }

    /** An acquire; {@link Arguments#NOT_GIVEN} waits for ever. */
    private record Taking(int permits, long waitMillis) implements NativeObject.Waiting {
        static Taking forEver(int permits) {
            return new Taking(permits, Arguments.NOT_GIVEN);
        }

        static Taking atOnce(int permits) {
            return new Taking(permits, 0);
        }

        @Override
        public long submit(long port, long id, long of) {
            return Native.countingSemaphoreAcquire(port, id, of, permits, waitMillis);
        }

        @Override
        public boolean block(long of, long cancel) {
            return Native.countingSemaphoreAcquireBlocking(of, permits, waitMillis, cancel);
        }

        @Override
        public boolean answer(Object reply) {
            return Replies.doneOrBusy(reply);
        }
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
     * Makes the semaphore with so many permits if it is not there. It stays until somebody deletes its key.
     *
     * @param permits 0 to 2147483647
     * @return whether this call has made it
     * @throws InvalidArgumentException for any other number
     * @throws WrongTypeException when the key is something else, also a semaphore of which permits are taken under leases
     * @throws OutcomeUnknownException when no reply came: it may be done or not
     */
    public boolean trySetPermits(int permits) {
        return inner.call(
                (port, id, of) -> Native.countingSemaphoreTrySetPermits(port, id, of, permits), Boolean.class);
    }

    /**
     * Acquires one permit, waiting as long as it takes. A semaphore that is not there has none: this waits until it is made.
     *
     * @throws InterruptedException when interrupted before or while waiting; nothing is left behind
     * @throws WrongTypeException when the key is something else, also a semaphore of which permits are taken under leases
     * @throws ConnectionException when the server could not be asked for {@code operation_timeout}
     * @throws OutcomeUnknownException when it was asked and did not answer: this caller has no permit, and what the server granted all the
     *     same is given back
     * @throws ClosedException when the client is closed
     */
    public void acquire() throws InterruptedException {
        acquire(1);
    }

    /**
     * As {@link #acquire()}, of permits, all at once. Served in the order of arrival: an acquire of few permits does not overtake one of many
     * for ever.
     *
     * @param permits 1 to 2147483647
     * @throws InterruptedException when interrupted before or while waiting; nothing is left behind
     * @throws InvalidArgumentException for any other number
     */
    public void acquire(int permits) throws InterruptedException {
        inner.awaitInterruptibly(Taking.forEver(permits));
    }

    /** As {@link #acquire()}, but an interrupt does not end the wait; it is kept for later. */
    public void acquireUninterruptibly() {
        acquireUninterruptibly(1);
    }

    /**
     * As {@link #acquire(int)}, but an interrupt does not end the wait; it is kept for later.
     *
     * @param permits 1 to 2147483647
     */
    public void acquireUninterruptibly(int permits) {
        inner.await(Taking.forEver(permits));
    }

    /**
     * Acquires one permit if one is available now. May jump the queue, at most twice per queue head.
     *
     * @return false when none is available, or the queue head was jumped twice already
     */
    public boolean tryAcquire() {
        return tryAcquire(1);
    }

    /**
     * Acquires permits, all at once, if they are available now. May jump the queue, at most twice per queue head.
     *
     * @param permits 1 to 2147483647
     * @return false when so many are not available, or the queue head was jumped twice already
     */
    public boolean tryAcquire(int permits) {
        return inner.await(Taking.atOnce(permits));
    }

    /**
     * Acquires one permit within a time.
     *
     * @param timeout zero or less does not wait; {@link Long#MAX_VALUE} is for ever
     * @param unit the unit of {@code timeout}
     * @return false when none was to be had in that time
     * @throws InterruptedException when interrupted before or while waiting; nothing is left behind
     */
    public boolean tryAcquire(long timeout, TimeUnit unit) throws InterruptedException {
        return tryAcquire(1, timeout, unit);
    }

    /**
     * Acquires permits, all at once, within a time.
     *
     * @param permits 1 to 2147483647
     * @param timeout zero or less does not wait; {@link Long#MAX_VALUE} is for ever
     * @param unit the unit of {@code timeout}
     * @return false when so many were not to be had in that time
     * @throws InterruptedException when interrupted before or while waiting; nothing is left behind
     */
    public boolean tryAcquire(int permits, long timeout, TimeUnit unit) throws InterruptedException {
        Arguments.notNull(unit, "unit");
        return inner.awaitInterruptibly(new Taking(permits, Arguments.waitMillis(timeout, unit)));
    }

    /**
     * Acquires permits, all at once, within a time.
     *
     * @param permits 1 to 2147483647
     * @param wait zero or less does not wait; {@code null} waits for ever
     * @return false when so many were not to be had in that time
     * @throws InterruptedException when interrupted before or while waiting; nothing is left behind
     */
    public boolean tryAcquire(int permits, @Nullable Duration wait) throws InterruptedException {
        return inner.awaitInterruptibly(new Taking(permits, Arguments.waitMillis(wait)));
    }

    /**
     * Releases one permit, for whoever waits for it. Any thread of any process may, whether or not it has acquired one.
     *
     * @throws InvalidArgumentException when there would be more than 2147483647
     * @throws WrongTypeException when the key is something else, also a semaphore of which permits are taken under leases
     * @throws OutcomeUnknownException when no reply came: it may be released or not, and a second call would release another one
     */
    public void release() {
        release(1);
    }

    /**
     * As {@link #release()}, of permits.
     *
     * @param permits 1 to 2147483647
     */
    public void release(int permits) {
        inner.run(releasing(permits));
    }

    /**
     * Changes how many permits are available. Taking away does not wait, and may leave fewer than none: then nothing is granted until enough
     * came back. Makes a semaphore that is not there.
     *
     * @param permits how many to add, negative takes away; 1 to 2147483647, and as many below 0
     * @throws InvalidArgumentException for 0, and when there would be more than 2147483647, or less than as many below 0
     * @throws WrongTypeException when the key is something else, also a semaphore of which permits are taken under leases
     * @throws OutcomeUnknownException when no reply came: it may be done or not
     */
    public void addPermits(int permits) {
        inner.run((port, id, of) -> Native.countingSemaphoreAddPermits(port, id, of, permits));
    }

    /**
     * Takes all permits that are available, past those that wait.
     *
     * @return how many there were. A negative number becomes 0, as with Redisson, and is returned.
     * @throws WrongTypeException when the key is something else, also a semaphore of which permits are taken under leases
     * @throws OutcomeUnknownException when the reply was lost, and with it the number
     */
    public int drainPermits() {
        return asInt(inner.call(Native::countingSemaphoreDrain, Long.class));
    }

    /**
     * How many permits are available, as the server says now.
     *
     * @return 0 when the semaphore is not there; negative after more were taken away than there were
     */
    public int availablePermits() {
        return asInt(inspect().available());
    }

    /**
     * Whether the semaphore is there, how many permits are available, and how many processes wait, as the server says now.
     *
     * @return what it said
     * @throws WrongTypeException when the key is something else, also a semaphore of which permits are taken under leases
     */
    public CountingSemaphoreInspection inspect() {
        return inner.call(Native::countingSemaphoreInspect, CountingSemaphoreInspection.class);
    }

    /**
     * Acquires one permit, waiting as long as it takes.
     *
     * @return completes when it is acquired; cancelling as for {@link #acquireAsync(int)}
     */
    public CompletableFuture<@Nullable Void> acquireAsync() {
        return acquireAsync(1);
    }

    /**
     * Acquires permits, all at once, waiting as long as it takes.
     *
     * @param permits 1 to 2147483647
     * @return completes when they are acquired; cancelling the future cancels the acquire and leaves nothing behind, and so does a
     *     {@code get} that times out or is interrupted
     */
    public CompletableFuture<@Nullable Void> acquireAsync(int permits) {
        return inner.<@Nullable Void>startWaiting(Taking.forEver(permits), Replies.NOTHING, late -> giveBack(permits));
    }

    /**
     * Acquires one permit if one is available now. May jump the queue, at most twice per queue head.
     *
     * @return false when none is available, or the queue head was jumped twice already; cancelling as for {@link #acquireAsync(int)}
     */
    public CompletableFuture<Boolean> tryAcquireAsync() {
        return tryAcquireAsync(1);
    }

    /**
     * Acquires permits, all at once, if they are available now. May jump the queue, at most twice per queue head.
     *
     * @param permits 1 to 2147483647
     * @return false when so many are not available, or the queue head was jumped twice already; cancelling as for
     *     {@link #acquireAsync(int)}
     */
    public CompletableFuture<Boolean> tryAcquireAsync(int permits) {
        return tryAcquireAsync(Taking.atOnce(permits));
    }

    /**
     * Acquires permits, all at once, within a time.
     *
     * @param permits 1 to 2147483647
     * @param wait zero or less does not wait; {@code null} waits for ever
     * @return false when so many were not to be had in that time; cancelling as for {@link #acquireAsync(int)}
     */
    public CompletableFuture<Boolean> tryAcquireAsync(int permits, @Nullable Duration wait) {
        return tryAcquireAsync(new Taking(permits, Arguments.waitMillis(wait)));
    }

    /**
     * As {@link #release()}, without waiting for it.
     *
     * @return completes when it is done; cancelling the future may leave it done or not
     */
    public CompletableFuture<@Nullable Void> releaseAsync() {
        return releaseAsync(1);
    }

    /**
     * As {@link #release(int)}, without waiting for it.
     *
     * @param permits 1 to 2147483647
     * @return completes when it is done; cancelling the future may leave it done or not
     */
    public CompletableFuture<@Nullable Void> releaseAsync(int permits) {
        return inner.<@Nullable Void>start(releasing(permits), Replies.NOTHING);
    }

    private CompletableFuture<Boolean> tryAcquireAsync(Taking taking) {
        return inner.startWaiting(taking, taking::answer, late -> {
            if (late) {
                giveBack(taking.permits());
            }
        });
    }

    /** Permits that were granted when nobody waited for them any more. */
    private void giveBack(int permits) {
        Future<?> unused = releaseAsync(permits).exceptionally(error -> {
            String message = permits + " permits of \"" + name + "\" came too late and were not confirmed as released";
            System.getLogger("org.libdlock").log(System.Logger.Level.WARNING, message, error);
            return null;
        });
    }

    private static NativeObject.Operation releasing(int permits) {
        return (port, id, of) -> Native.countingSemaphoreRelease(port, id, of, permits);
    }

    private static int asInt(long permits) {
        return (int) Math.max(Integer.MIN_VALUE, Math.min(Integer.MAX_VALUE, permits));
    }

    /** The name, for logs and debuggers. */
    @Override
    public String toString() {
        return "DistributedCountingSemaphore[" + name + "]";
    }
}
