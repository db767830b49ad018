package org.libdlock;

import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.Lock;
import org.jspecify.annotations.Nullable;
import org.libdlock.internal.Failure;
import org.libdlock.internal.Hold;
import org.libdlock.internal.Native;

/**
 * What a {@link DistributedLock}, each side of a {@link DistributedReadWriteLock} and a {@link DistributedLockAll} have in common: the rules
 * of {@link java.util.concurrent.locks.ReentrantLock} under a lease. The holder is the <em>thread</em> (platform or virtual), which may
 * acquire again unless told otherwise, must release as often, and nobody else can. {@link #acquire()} and the {@code ...Async} methods
 * give holds that belong to a {@link Held} instead, and to no thread.
 *
 * <p>A thread that ends while it holds something is noticed within about a second: renewal stops, a warning is logged, and the lease runs
 * out. May be shared between threads.
 *
 * @param <H> the handle of a hold
 */
public abstract sealed class LeasedLock<H extends Held> implements Lock permits FencedLock, DistributedLockAll {
    final Client client;
    final NativeLock<H> inner;

    private final LockCalls calls;

    LeasedLock(Client client, LockCalls calls, Inner<H> inner) {
        this.client = client;
        this.calls = calls;
        this.inner = inner.of(this);
    }

    /** Makes the native half, which keeps the lock reachable while a thread holds it. */
    interface Inner<H extends Held> {
        NativeLock<H> of(LeasedLock<H> lock);
    }

    /** The handle of a hold that belongs to no thread. */
    abstract H handle(Hold hold);

    /**
     * Acquires, waiting as long as it takes. An interrupt does not end the wait; it is kept for later.
     *
     * @throws DeadlockException when this thread holds it and it is not re-entrant; of the write side of a read-write lock, when this
     *     thread reads
     * @throws LockLostException when this thread has lost the lock and has not been told yet. It is told once, by this exception, by
     *     another or by {@link #isHeldByCurrentThread()}; after that it acquires anew.
     * @throws ConnectionException when the server has not answered for {@code operation_timeout}
     * @throws ClosedException when the client is closed
     */
    @Override
    public void lock() {
        inner.require(inner.acquire(Arguments.NOT_GIVEN, Arguments.NOT_GIVEN));
    }

    /**
     * As {@link #lock}, but an interrupt ends the wait, and leaves nothing behind.
     *
     * @throws InterruptedException when interrupted before or while waiting
     */
    @Override
    public void lockInterruptibly() throws InterruptedException {
        inner.require(inner.acquireInterruptibly(Arguments.NOT_GIVEN, Arguments.NOT_GIVEN));
    }

    /**
     * Acquires if it is to be had now. May jump the queue, at most twice per queue head.
     *
     * @return false when it is held by others, or the queue head was jumped twice already
     * @throws DeadlockException when this thread holds it and it is not re-entrant; of the write side of a read-write lock, when this
     *     thread reads: also an attempt that does not wait, since none can succeed until this thread has released that
     */
    @Override
    public boolean tryLock() {
        return inner.acquire(0, Arguments.NOT_GIVEN);
    }

    /**
     * Acquires within a time.
     *
     * @param time zero or less does not wait; {@link Long#MAX_VALUE} is for ever
     * @param unit the unit of {@code time}
     * @return false when it was not to be had in that time
     * @throws InterruptedException when interrupted before or while waiting
     */
    @Override
    public boolean tryLock(long time, TimeUnit unit) throws InterruptedException {
        Arguments.notNull(unit, "unit");
        return inner.acquireInterruptibly(Arguments.waitMillis(time, unit), Arguments.NOT_GIVEN);
    }

    /**
     * Acquires within a time, with a lease that is not renewed.
     *
     * @param wait zero or less does not wait; {@link Long#MAX_VALUE} is for ever
     * @param lease 100 ms to 24 h, or -1 for the lock's own
     * @param unit the unit of both
     * @return false when it was not to be had in that time
     * @throws InterruptedException when interrupted before or while waiting
     */
    public boolean tryLock(long wait, long lease, TimeUnit unit) throws InterruptedException {
        Arguments.notNull(unit, "unit");
        long leaseMillis = Arguments.leaseMillis(lease, unit);
        return inner.acquireInterruptibly(Arguments.waitMillis(wait, unit), leaseMillis);
    }

    /**
     * Acquires within a time, with a lease that is not renewed.
     *
     * @param wait zero or less does not wait; {@code null} waits for ever
     * @param lease 100 ms to 24 h; {@code null} is the lock's own
     * @return false when it was not to be had in that time
     * @throws InterruptedException when interrupted before or while waiting
     */
    public boolean tryLock(@Nullable Duration wait, @Nullable Duration lease) throws InterruptedException {
        long leaseMillis = Arguments.leaseMillis(lease);
        return inner.acquireInterruptibly(Arguments.waitMillis(wait), leaseMillis);
    }

    /**
     * Acquires with a lease that is not renewed, waiting as long as it takes. An interrupt does not end the wait; it is kept for later.
     *
     * @param lease 100 ms to 24 h, or -1 for the lock's own
     * @param unit the unit of {@code lease}
     */
    public void lock(long lease, TimeUnit unit) {
        Arguments.notNull(unit, "unit");
        inner.require(inner.acquire(Arguments.NOT_GIVEN, Arguments.leaseMillis(lease, unit)));
    }

    /**
     * Gives up one level of this thread's hold; the last one ends it.
     *
     * @throws NotHeldException when this thread does not hold it, or has lost it
     * @throws OutcomeUnknownException when no reply came; the hold is over all the same, and the lease runs out
     */
    @Override
    public void unlock() {
        inner.release();
    }

    /**
     * Not there: a condition would need everybody who signals to share it with those who wait.
     *
     * @throws UnsupportedOperationException always
     */
    @Override
    public Condition newCondition() {
        throw new UnsupportedOperationException("a distributed lock has no conditions");
    }

    /**
     * Whether the calling thread holds it, and has not lost it. No I/O. A thread that has lost it is told so by this answer, and may
     * acquire it anew: {@code if (lock.isHeldByCurrentThread()) lock.unlock()} is all that a {@code finally} needs.
     *
     * @return true while it does
     */
    public boolean isHeldByCurrentThread() {
        return getHoldCount() > 0;
    }

    /**
     * How many levels the calling thread holds. No I/O.
     *
     * @return 0 when it does not hold the lock, or has lost it
     */
    public int getHoldCount() {
        return inner.holdCount();
    }

    /**
     * Whether this thread holds the lock for certain, by this machine's monotonic clock. No I/O.
     *
     * @return false from the end of the lease on
     */
    public boolean isValid() {
        Boolean valid = inner.ask(Native::heldValid);
        if (valid == null || valid) {
            return valid != null;
        }
        // A thread that hears "no" has heard of the loss.
        inner.holdCount();
        return false;
    }

    /**
     * How long this thread's hold stays valid without another renewal. No I/O.
     *
     * @return zero when it is over, or there is none
     */
    public Duration remaining() {
        Long nanos = inner.ask(Native::heldRemaining);
        return nanos == null ? Duration.ZERO : Duration.ofNanos(nanos);
    }

    /**
     * The signal that this thread's hold was lost: before the server can grant the name to somebody else, also while the server cannot
     * be reached. Only a removed key, or a jump of the server's clock or data, is noticed later: at the next renewal, a third of the
     * lease at most, or when a fixed lease ends, which is not renewed. After a forced release, a hold of the client that forced it is
     * lost at once; another client is sent a message and looks at once; until then only its fencing token protects the resource.
     *
     * @return completes with the reason; cancelled when the hold ends by a release. Cancelling it changes nothing.
     * @throws NotHeldException when this thread holds nothing
     */
    public CompletableFuture<LossReason> onLost() {
        CompletableFuture<LossReason> lost = inner.ask(held -> Held.lossOf(client.port(), held));
        if (lost == null) {
            throw nothing("lost");
        }
        return lost;
    }

    /**
     * Makes this thread's hold last for {@code lease} from now, or as long as it did if that is longer.
     *
     * @param lease 100 ms to 24 h
     * @throws NotHeldException when this thread does not hold it, or not any more
     */
    public void extend(Duration lease) {
        Arguments.notNull(lease, "lease");
        long millis = Arguments.millis(lease);
        Replies.check(inner.call((port, id, lock, holder) -> calls.extend().submit(port, id, lock, holder, millis)));
    }

    /**
     * Acquires for a handle, waiting as long as it takes: a hold that belongs to the object returned and to no thread, to be released by
     * any.
     *
     * <pre>{@code
     * try (var handle = lock.acquire()) {
     *     write(value, handle.token());
     * }
     * }</pre>
     *
     * @return the hold
     * @throws InterruptedException when interrupted before or while waiting; nothing is left behind
     */
    public H acquire() throws InterruptedException {
        return inner.take(inner.taking(Arguments.NOT_GIVEN, Arguments.NOT_GIVEN));
    }

    /**
     * Acquires for a handle within a time.
     *
     * @param wait zero or less does not wait; {@code null} waits for ever
     * @param lease 100 ms to 24 h, not renewed; {@code null} is the lock's own
     * @return the hold
     * @throws AcquireTimeoutException when it was not to be had in that time
     * @throws InterruptedException when interrupted before or while waiting; nothing is left behind
     */
    public H acquire(@Nullable Duration wait, @Nullable Duration lease) throws InterruptedException {
        return inner.take(inner.taking(Arguments.waitMillis(wait), Arguments.leaseMillis(lease)));
    }

    /**
     * Acquires for a handle if it is to be had now. May jump the queue, at most twice per queue head.
     *
     * @return the hold, or {@code null} when it is held by others, or the queue head was jumped twice already
     */
    public @Nullable H tryAcquire() {
        return inner.tryTake(inner.taking(0, Arguments.NOT_GIVEN));
    }

    /**
     * Acquires for a handle, waiting as long as it takes.
     *
     * @return the hold; cancelling the future cancels the acquire and leaves nothing behind, and so does a {@code get} that times out or
     *     is interrupted
     */
    public CompletableFuture<H> lockAsync() {
        return inner.takeAsync(inner.taking(Arguments.NOT_GIVEN, Arguments.NOT_GIVEN));
    }

    /**
     * Acquires for a handle within a time.
     *
     * @param wait zero or less does not wait; {@code null} waits for ever
     * @param lease 100 ms to 24 h, not renewed; {@code null} is the lock's own
     * @return the hold, or {@link AcquireTimeoutException} when it was not to be had in that time; cancelling as for
     *     {@link #lockAsync()}
     */
    public CompletableFuture<H> lockAsync(@Nullable Duration wait, @Nullable Duration lease) {
        return inner.takeAsync(inner.taking(Arguments.waitMillis(wait), Arguments.leaseMillis(lease)));
    }

    /**
     * Acquires for a handle if it is to be had now. May jump the queue, at most twice per queue head.
     *
     * @return the hold, or {@code null} when it is held by others, or the queue head was jumped twice already; cancelling as for
     *     {@link #lockAsync()}
     */
    @SuppressWarnings("NullAway") // which loses @Nullable where it puts a class in the place of a type variable
    public CompletableFuture<@Nullable H> tryLockAsync() {
        return inner.tryTakeAsync(inner.taking(0, Arguments.NOT_GIVEN));
    }

    /** That this thread holds nothing. */
    final NotHeldException nothing(String op) {
        String message = op + " \"" + inner.name() + "\": this thread does not hold " + calls.what();
        return new NotHeldException(new Failure(Kind.NOT_HELD.code(), op, inner.name(), message));
    }
}
