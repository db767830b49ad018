package org.libdlock;

import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.libdlock.internal.Failure;
import org.libdlock.internal.Native;
import org.libdlock.internal.SeenPermits;

/**
 * Permits of one name among all processes, made by {@link Client#semaphore(String, int)}, with the verbs of
 * {@link java.util.concurrent.Semaphore}. Permits are leased: those of a process that died are available again when their lease ends.
 *
 * <p>Unlike the JDK's semaphore it knows who holds. Each acquire is a hold of the calling <em>thread</em> (platform or virtual), with all of
 * its permits: nobody else can release it, no thread can release more than it has acquired, and a hold ends whole (see
 * {@link #release(int)}). {@link #take()} and {@link #takeAsync()} give holds that belong to a {@link PermitsHandle} instead, and to no
 * thread. A thread that acquires again waits like anybody else.
 *
 * <p>There is no fencing token: several hold at once, so no order of theirs could protect a resource. A thread that ends while it holds
 * permits is noticed within about a second: renewal stops, a warning is logged, and the lease runs out. May be shared between threads.
 */
public final class DistributedSemaphore {
    private final Client client;
    private final String name;
    private final int permits;
    private final NativeSemaphore inner;

    DistributedSemaphore(Client client, String name, int permits, long handle) {
        this.client = client;
        this.name = name;
        this.permits = permits;
        this.inner = new NativeSemaphore(client, this, name, handle);
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
     * Acquires one permit, waiting as long as it takes.
     *
     * @throws InterruptedException when interrupted before or while waiting; nothing is left behind
     * @throws ConnectionException when the server has not answered for {@code operation_timeout}
     * @throws ClosedException when the client is closed
     */
    public void acquire() throws InterruptedException {
        acquire(1);
    }

    /**
     * Acquires permits, all at once, waiting as long as it takes. Served in the order of arrival: who wants few does not overtake for ever
     * who wants many.
     *
     * @param permits 1 to 10000, and no more than there are in all
     * @throws InvalidArgumentException for any other number
     * @throws InterruptedException when interrupted before or while waiting; nothing is left behind
     * @throws ConnectionException when the server has not answered for {@code operation_timeout}
     * @throws ClosedException when the client is closed
     */
    public void acquire(int permits) throws InterruptedException {
        inner.require(inner.acquireInterruptibly(forEver(permits)));
    }

    /** As {@link #acquire()}, but an interrupt does not end the wait; it is kept for later. */
    public void acquireUninterruptibly() {
        acquireUninterruptibly(1);
    }

    /**
     * As {@link #acquire(int)}, but an interrupt does not end the wait; it is kept for later.
     *
     * @param permits 1 to 10000, and no more than there are in all
     */
    public void acquireUninterruptibly(int permits) {
        inner.require(inner.acquire(forEver(permits)));
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
     * @param permits 1 to 10000, and no more than there are in all
     * @return false when so many are not available, or the queue head was jumped twice already
     */
    public boolean tryAcquire(int permits) {
        return inner.acquire(atOnce(permits));
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
     * @param permits 1 to 10000, and no more than there are in all
     * @param timeout zero or less does not wait; {@link Long#MAX_VALUE} is for ever
     * @param unit the unit of {@code timeout}
     * @return false when so many were not to be had in that time
     * @throws InterruptedException when interrupted before or while waiting; nothing is left behind
     */
    public boolean tryAcquire(int permits, long timeout, TimeUnit unit) throws InterruptedException {
        Arguments.notNull(unit, "unit");
        return inner.acquireInterruptibly(
                new NativeSemaphore.Taking(permits, Arguments.waitMillis(timeout, unit), Arguments.NOT_GIVEN));
    }

    /**
     * Acquires permits, all at once, within a time, with a lease that is not renewed.
     *
     * @param permits 1 to 10000, and no more than there are in all
     * @param wait zero or less does not wait; {@link Long#MAX_VALUE} is for ever
     * @param lease 100 ms to 24 h, or -1 for the semaphore's own
     * @param unit the unit of both
     * @return false when so many were not to be had in that time
     * @throws InterruptedException when interrupted before or while waiting; nothing is left behind
     */
    public boolean tryAcquire(int permits, long wait, long lease, TimeUnit unit) throws InterruptedException {
        Arguments.notNull(unit, "unit");
        long leaseMillis = Arguments.leaseMillis(lease, unit);
        return inner.acquireInterruptibly(
                new NativeSemaphore.Taking(permits, Arguments.waitMillis(wait, unit), leaseMillis));
    }

    /**
     * Acquires permits, all at once, within a time, with a lease that is not renewed.
     *
     * @param permits 1 to 10000, and no more than there are in all
     * @param wait zero or less does not wait; {@code null} waits for ever
     * @param lease 100 ms to 24 h; {@code null} is the semaphore's own
     * @return false when so many were not to be had in that time
     * @throws InterruptedException when interrupted before or while waiting; nothing is left behind
     */
    public boolean tryAcquire(int permits, @Nullable Duration wait, @Nullable Duration lease)
            throws InterruptedException {
        return inner.acquireInterruptibly(within(permits, wait, lease));
    }

    /**
     * Gives back one permit: ends this thread's latest hold, which has to be one of a single permit. As {@link #release(int)} of 1.
     *
     * @throws InvalidArgumentException when that hold has more permits; it stays held
     * @throws NotHeldException when this thread holds none, or has lost it
     * @throws OutcomeUnknownException when no reply came; the hold is over all the same, and the lease runs out
     */
    public void release() {
        release(1);
    }

    /**
     * Gives back permits: ends the latest hold of this thread, or the latest few, which have exactly so many together. A hold ends with all
     * the permits of its acquire, so after {@code acquire(3)} and {@code acquire(2)} a thread releases 2 or 5, and then 3. A lost hold
     * counts until it is released; that throws, and ends the others all the same.
     *
     * @param permits as many as one or several of the latest acquires took
     * @throws InvalidArgumentException for any other number, which says what is allowed; nothing is released
     * @throws NotHeldException when this thread holds none, or has lost one of these holds
     * @throws OutcomeUnknownException when no reply came; the hold is over all the same, and the lease runs out
     */
    public void release(int permits) {
        inner.release(permits);
    }

    /**
     * How many permits are available, as the server says now; all of them while nobody has made the semaphore there.
     *
     * @return negative after the number was lowered below what is taken
     */
    public int availablePermits() {
        SemaphoreInspection seen = inspect();
        long available = seen.permits().isEmpty() ? permits : seen.available();
        return (int) Math.max(Integer.MIN_VALUE, Math.min(Integer.MAX_VALUE, available));
    }

    /**
     * Sets how many permits there are in all, for everybody. Lowered, what is taken stays taken, and nothing is granted until enough was
     * given back; raised, those are woken whose turn it is.
     *
     * @param permits 1 to 2147483647
     * @throws InvalidArgumentException for any other number
     * @throws WrongTypeException when the key is no semaphore
     */
    public void setPermits(int permits) {
        Replies.check(inner.call((port, id, of, holder) -> Native.semaphoreSetPermits(port, id, of, permits)));
    }

    /**
     * How many permits there are, how many are available, and how many processes wait, as the server says now.
     *
     * @return what it said
     * @throws WrongTypeException when the key is no semaphore
     */
    public SemaphoreInspection inspect() {
        Object reply = inner.call((port, id, of, holder) -> Native.semaphoreInspect(port, id, of));
        return SemaphoreInspection.of(Replies.of(reply, SeenPermits.class));
    }

    /**
     * How many holds the calling thread has, of however many permits each; lost ones do not count. No I/O.
     *
     * @return 0 when it holds nothing
     */
    public int getHoldCount() {
        return inner.holdCount();
    }

    /**
     * Whether this thread's latest hold is held for certain, by this machine's monotonic clock. No I/O.
     *
     * @return false from the end of the lease on, and when there is none
     */
    public boolean isValid() {
        return Boolean.TRUE.equals(inner.askLatest(Native::heldValid));
    }

    /**
     * How long this thread's latest hold stays valid without another renewal. No I/O.
     *
     * @return zero when it is over, or there is none
     */
    public Duration remaining() {
        Long nanos = inner.askLatest(Native::heldRemaining);
        return nanos == null ? Duration.ZERO : Duration.ofNanos(nanos);
    }

    /**
     * The signal that this thread's latest hold was lost: before the server can grant its permits to somebody else, also while the server
     * cannot be reached. What another program took away is noticed later: at the next renewal, a third of the lease at most, or when a
     * fixed lease ends, which is not renewed.
     *
     * @return completes with the reason; cancelled when the hold ends by a release. Cancelling it changes nothing.
     * @throws NotHeldException when this thread holds nothing
     */
    public CompletableFuture<LossReason> onLost() {
        CompletableFuture<LossReason> lost = inner.askLatest(held -> Held.lossOf(client.port(), held));
        if (lost == null) {
            String message = "lost \"" + name + "\": this thread holds no permits";
            throw new NotHeldException(new Failure(Kind.NOT_HELD.code(), "lost", name, message));
        }
        return lost;
    }

    /**
     * Makes this thread's latest hold last for {@code lease} from now, or as long as it did if that is longer.
     *
     * @param lease 100 ms to 24 h
     * @throws NotHeldException when there is none, or it was lost; a lost one still needs its release
     */
    public void extend(Duration lease) {
        Arguments.notNull(lease, "lease");
        long millis = Arguments.millis(lease);
        Replies.check(inner.call((port, id, of, holder) -> Native.semaphoreExtend(port, id, of, holder, millis)));
    }

    /**
     * Acquires one permit for a handle, waiting as long as it takes: a hold that belongs to the object returned and to no thread, to be
     * released by any.
     *
     * <pre>{@code
     * try (PermitsHandle handle = downloads.take()) {
     *     fetch();
     * }
     * }</pre>
     *
     * @return the hold
     * @throws InterruptedException when interrupted before or while waiting; nothing is left behind
     */
    public PermitsHandle take() throws InterruptedException {
        return take(1);
    }

    /**
     * Acquires permits for a handle, all at once, waiting as long as it takes.
     *
     * @param permits 1 to 10000, and no more than there are in all
     * @return the hold
     * @throws InterruptedException when interrupted before or while waiting; nothing is left behind
     */
    public PermitsHandle take(int permits) throws InterruptedException {
        return inner.take(forEver(permits));
    }

    /**
     * Acquires permits for a handle, all at once, within a time.
     *
     * @param permits 1 to 10000, and no more than there are in all
     * @param wait zero or less does not wait; {@code null} waits for ever
     * @param lease 100 ms to 24 h, not renewed; {@code null} is the semaphore's own
     * @return the hold
     * @throws AcquireTimeoutException when so many were not to be had in that time
     * @throws InterruptedException when interrupted before or while waiting; nothing is left behind
     */
    public PermitsHandle take(int permits, @Nullable Duration wait, @Nullable Duration lease)
            throws InterruptedException {
        return inner.take(within(permits, wait, lease));
    }

    /**
     * Acquires one permit for a handle if one is available now. May jump the queue, at most twice per queue head.
     *
     * @return the hold, or {@code null} when none is available, or the queue head was jumped twice already
     */
    public @Nullable PermitsHandle tryTake() {
        return tryTake(1);
    }

    /**
     * Acquires permits for a handle, all at once, if they are available now. May jump the queue, at most twice per queue head.
     *
     * @param permits 1 to 10000, and no more than there are in all
     * @return the hold, or {@code null} when so many are not available, or the queue head was jumped twice already
     */
    public @Nullable PermitsHandle tryTake(int permits) {
        return inner.tryTake(atOnce(permits));
    }

    /**
     * Acquires one permit for a handle, waiting as long as it takes.
     *
     * @return the hold; cancelling as for {@link #takeAsync(int)}
     */
    public CompletableFuture<PermitsHandle> takeAsync() {
        return takeAsync(1);
    }

    /**
     * Acquires permits for a handle, all at once, waiting as long as it takes.
     *
     * @param permits 1 to 10000, and no more than there are in all
     * @return the hold; cancelling the future cancels the acquire and leaves nothing behind, and so does a {@code get} that times out or
     *     is interrupted
     */
    public CompletableFuture<PermitsHandle> takeAsync(int permits) {
        return inner.takeAsync(forEver(permits));
    }

    /**
     * Acquires permits for a handle, all at once, within a time.
     *
     * @param permits 1 to 10000, and no more than there are in all
     * @param wait zero or less does not wait; {@code null} waits for ever
     * @param lease 100 ms to 24 h, not renewed; {@code null} is the semaphore's own
     * @return the hold, or {@link AcquireTimeoutException} when so many were not to be had in that time; cancelling as for
     *     {@link #takeAsync(int)}
     */
    public CompletableFuture<PermitsHandle> takeAsync(int permits, @Nullable Duration wait, @Nullable Duration lease) {
        return inner.takeAsync(within(permits, wait, lease));
    }

    /**
     * Acquires one permit for a handle if one is available now. May jump the queue, at most twice per queue head.
     *
     * @return the hold, or {@code null} when none is available, or the queue head was jumped twice already; cancelling as for
     *     {@link #takeAsync(int)}
     */
    public CompletableFuture<@Nullable PermitsHandle> tryTakeAsync() {
        return tryTakeAsync(1);
    }

    /**
     * Acquires permits for a handle, all at once, if they are available now. May jump the queue, at most twice per queue head.
     *
     * @param permits 1 to 10000, and no more than there are in all
     * @return the hold, or {@code null} when so many are not available, or the queue head was jumped twice already; cancelling as for
     *     {@link #takeAsync(int)}
     */
    @SuppressWarnings("NullAway") // which loses @Nullable where it puts a class in the place of a type variable
    public CompletableFuture<@Nullable PermitsHandle> tryTakeAsync(int permits) {
        return inner.tryTakeAsync(atOnce(permits));
    }

    private static NativeSemaphore.Taking forEver(int permits) {
        return new NativeSemaphore.Taking(permits, Arguments.NOT_GIVEN, Arguments.NOT_GIVEN);
    }

    private static NativeSemaphore.Taking atOnce(int permits) {
        return new NativeSemaphore.Taking(permits, 0, Arguments.NOT_GIVEN);
    }

    private static NativeSemaphore.Taking within(int permits, @Nullable Duration wait, @Nullable Duration lease) {
        return new NativeSemaphore.Taking(permits, Arguments.waitMillis(wait), Arguments.leaseMillis(lease));
    }

    /** The name, for logs and debuggers. */
    @Override
    public String toString() {
        return "DistributedSemaphore[" + name + "]";
    }
}
