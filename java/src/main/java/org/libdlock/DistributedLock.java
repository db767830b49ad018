package org.libdlock;

import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.Lock;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.libdlock.internal.Failure;
import org.libdlock.internal.Hold;
import org.libdlock.internal.Native;
import org.libdlock.internal.Seen;

/**
 * A lock of one name, made by {@link Client#lock(String)}, with the rules of {@link java.util.concurrent.locks.ReentrantLock}: the holder
 * is the <em>thread</em> (platform or virtual), which may acquire again unless told otherwise, must release as often, and nobody else
 * can. {@link #acquire()} and the {@code ...Async} methods give holds that belong to a {@link LockHandle} instead, and to no thread.
 *
 * <p>A thread that ends while it holds the lock is noticed within about a second: renewal stops, a warning is logged, and the lease runs
 * out. May be shared between threads.
 */
public final class DistributedLock implements Lock {
    private final Client client;
    private final String name;
    private final NativeLock inner;

    DistributedLock(Client client, String name, long handle) {
        this.client = client;
        this.name = name;
        this.inner = new NativeLock(client, name, handle);
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
     * Acquires, waiting as long as it takes. An interrupt does not end the wait; it is kept for later.
     *
     * @throws DeadlockException when this thread holds the lock and it is not re-entrant
     * @throws LockLostException when this thread has lost the lock and has not been told yet. It is told once, by this exception, by
     *     another or by {@link #isHeldByCurrentThread()}; after that it acquires anew.
     * @throws ConnectionException when the server has not answered for {@code operation_timeout}
     * @throws ClosedException when the client is closed
     */
    @Override
    public void lock() {
        require(inner.acquire(Arguments.NOT_GIVEN, Arguments.NOT_GIVEN));
    }

    /**
     * As {@link #lock}, but an interrupt ends the wait, and leaves nothing behind.
     *
     * @throws InterruptedException when interrupted before or while waiting
     */
    @Override
    public void lockInterruptibly() throws InterruptedException {
        require(inner.acquireInterruptibly(Arguments.NOT_GIVEN, Arguments.NOT_GIVEN));
    }

    /**
     * Acquires if nobody holds it now. May jump the queue, at most twice per queue head.
     *
     * @return false when somebody holds it, or the queue head was jumped twice already
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
        require(inner.acquire(Arguments.NOT_GIVEN, Arguments.leaseMillis(lease, unit)));
    }

    /**
     * Gives up one level of this thread's hold; the last one frees the lock.
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
     * Whether anybody holds the lock, as the server says now.
     *
     * @return true also for holders elsewhere
     */
    public boolean isLocked() {
        return inspect().holder() != null;
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
     * The fencing token of this thread's hold: larger than that of any earlier hold of this name, below 2<sup>53</sup>. No I/O.
     *
     * @return the token
     * @throws NotHeldException when this thread holds nothing
     */
    public long token() {
        return hold("token").token();
    }

    /**
     * The owner as the server knows it. No I/O.
     *
     * @return {@code <client uuid>:<n>}
     * @throws NotHeldException when this thread holds nothing
     */
    public String owner() {
        return hold("owner").owner();
    }

    /**
     * Whether this thread holds the lock for certain, by this machine's monotonic clock. No I/O.
     *
     * @return false from the end of the lease on
     */
    public boolean isValid() {
        Hold hold = inner.hold();
        if (hold == null || Native.heldValid(hold.handle())) {
            return hold != null;
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
        Hold hold = inner.hold();
        return hold == null ? Duration.ZERO : Duration.ofNanos(Native.heldRemaining(hold.handle()));
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
        return LockHandle.lossOf(client.port(), hold("lost").handle());
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
        Replies.check(inner.call((port, id, lock, holder) -> Native.lockExtend(port, id, lock, holder, millis)));
    }

    /**
     * Lets go of this thread's hold without freeing the lock: it stays taken for a lease that starts anew.
     *
     * @return a text for {@link #attach} in another thread or process, good for one of them
     * @throws NotHeldException when this thread does not hold it, or not any more
     * @throws InvalidArgumentException when it holds it more than once
     */
    public String detach() {
        String text = Replies.of(inner.call(Native::lockDetach), String.class);
        inner.left();
        return text;
    }

    /**
     * Makes this thread the holder of what {@link #detach} let go of, in this process or another, with the same token.
     *
     * @param detached the text
     * @throws NotHeldException when that hold is over
     * @throws InvalidArgumentException for a text that is no detached hold of this lock
     */
    public void attach(String detached) {
        Arguments.notNull(detached, "detached");
        inner.attach(Arguments.textBytes(detached, "detached hold", "attach"));
    }

    /**
     * Who holds the lock, for how long, and the last token, as the server says now.
     *
     * @return what it said
     */
    public Inspection inspect() {
        Object reply = inner.call((port, id, lock, holder) -> Native.lockInspect(port, id, lock));
        return Inspection.of(Replies.of(reply, Seen.class));
    }

    /**
     * Frees the lock whoever holds it: for operators, since the holder may still be at work. A hold of this client is lost when this
     * returns; another client is sent a message and looks at once; until then only its fencing token protects the resource.
     *
     * @return whether anybody did
     */
    public boolean forceRelease() {
        Object reply = inner.call((port, id, lock, holder) -> Native.lockForceRelease(port, id, lock));
        return Replies.of(reply, Boolean.class);
    }

    /**
     * Acquires for a handle, waiting as long as it takes: a hold that belongs to the object returned and to no thread, to be released by
     * any.
     *
     * <pre>{@code
     * try (LockHandle handle = lock.acquire()) {
     *     write(value, handle.token());
     * }
     * }</pre>
     *
     * @return the hold
     * @throws InterruptedException when interrupted before or while waiting; nothing is left behind
     */
    public LockHandle acquire() throws InterruptedException {
        return acquireHandle(Arguments.NOT_GIVEN, Arguments.NOT_GIVEN);
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
    public LockHandle acquire(@Nullable Duration wait, @Nullable Duration lease) throws InterruptedException {
        return acquireHandle(Arguments.waitMillis(wait), Arguments.leaseMillis(lease));
    }

    /**
     * Acquires for a handle if nobody holds the lock now. May jump the queue, at most twice per queue head.
     *
     * @return the hold, or {@code null} when somebody holds it, or the queue head was jumped twice already
     */
    public @Nullable LockHandle tryAcquire() {
        Hold hold = inner.tryHold();
        return hold == null ? null : handle(hold);
    }

    private LockHandle acquireHandle(long waitMillis, long leaseMillis) throws InterruptedException {
        return handle(inner.awaitHold(waitMillis, leaseMillis));
    }

    /**
     * Acquires for a handle, waiting as long as it takes.
     *
     * @return the hold; cancelling the future cancels the acquire and leaves nothing behind, and so does a {@code get} that times out or
     *     is interrupted
     */
    public CompletableFuture<LockHandle> lockAsync() {
        return acquireAsync(Arguments.NOT_GIVEN, Arguments.NOT_GIVEN, this::granted);
    }

    /**
     * Acquires for a handle within a time.
     *
     * @param wait zero or less does not wait; {@code null} waits for ever
     * @param lease 100 ms to 24 h, not renewed; {@code null} is the lock's own
     * @return the hold, or {@link AcquireTimeoutException} when it was not to be had in that time; cancelling as for
     *     {@link #lockAsync()}
     */
    public CompletableFuture<LockHandle> lockAsync(@Nullable Duration wait, @Nullable Duration lease) {
        return acquireAsync(Arguments.waitMillis(wait), Arguments.leaseMillis(lease), this::granted);
    }

    /**
     * Acquires for a handle if nobody holds the lock now. May jump the queue, at most twice per queue head.
     *
     * @return the hold, or {@code null} when somebody holds it, or the queue head was jumped twice already; cancelling as for
     *     {@link #lockAsync()}
     */
    public CompletableFuture<@Nullable LockHandle> tryLockAsync() {
        Function<Object, @Nullable LockHandle> convert = new Function<Object, @Nullable LockHandle>() {
            @Override
            public @Nullable LockHandle apply(Object reply) {
                return Replies.doneOrBusy(reply) ? granted(reply) : null;
            }
        };
        return this.<@Nullable LockHandle>acquireAsync(0, Arguments.NOT_GIVEN, convert);
    }

    /**
     * As {@link #attach}, for a handle.
     *
     * @param detached the text that {@link #detach} gave
     * @return the hold; when the future is cancelled the hold is released, and the text may be used up all the same
     */
    public CompletableFuture<LockHandle> attachAsync(String detached) {
        Arguments.notNull(detached, "detached");
        try {
            byte[] text = Arguments.textBytes(detached, "detached hold", "attach");
            return inner.start(
                    (port, id, lock, holder) -> Native.lockAttach(port, id, lock, holder, text), this::granted);
        } catch (InvalidArgumentException refused) {
            return CompletableFuture.failedFuture(refused);
        }
    }

    private <T extends @Nullable LockHandle> CompletableFuture<T> acquireAsync(
            long waitMillis, long leaseMillis, Function<Object, T> convert) {
        return inner.start(
                (port, id, lock, holder) -> Native.lockAcquire(port, id, lock, holder, waitMillis, leaseMillis),
                convert);
    }

    private LockHandle granted(Object reply) {
        return handle(Replies.of(reply, Hold.class));
    }

    private LockHandle handle(Hold hold) {
        boolean made = false;
        try {
            LockHandle handle = new LockHandle(this, client.port(), hold);
            made = true;
            return handle;
        } finally {
            if (!made) {
                Native.free(hold.handle());
            }
        }
    }

    private void require(boolean granted) {
        if (!granted) {
            String message = "acquire \"" + name + "\": held by another holder";
            Failure busy = new Failure(Kind.BUSY.code(), "acquire", name, message, null, -1, -1, null, true);
            throw new AcquireTimeoutException(busy);
        }
    }

    private Hold hold(String op) {
        Hold hold = inner.hold();
        if (hold == null) {
            String message = op + " \"" + name + "\": this thread does not hold the lock";
            throw new NotHeldException(new Failure(Kind.NOT_HELD.code(), op, name, message));
        }
        return hold;
    }

    /** The name, for logs and debuggers. */
    @Override
    public String toString() {
        return "DistributedLock[" + name + "]";
    }
}
