package org.libdlock;

import java.lang.ref.Reference;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.Lock;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.libdlock.internal.Failure;
import org.libdlock.internal.Hold;
import org.libdlock.internal.Holders;
import org.libdlock.internal.Native;
import org.libdlock.internal.Port;
import org.libdlock.internal.Seen;
import org.libdlock.internal.Threads;
import org.libdlock.internal.Wire;

/**
 * A lock of one name, made by {@link Client#lock(String)}, with the rules of {@link java.util.concurrent.locks.ReentrantLock}: the holder
 * is the <em>thread</em> (platform or virtual), which may acquire again unless told otherwise, must release as often, and nobody else
 * can. The {@code ...Async} methods give holds that belong to a {@link LockHandle} instead, and to no thread.
 *
 * <p>Waiting threads sleep in Java. A thread that ends while it holds the lock is noticed within about a second: renewal stops, a
 * warning is logged, and the lease runs out. May be shared between threads.
 */
public final class DistributedLock implements Lock {
    private static final long NO_HOLDER = 0;
    private static final Failure BUSY =
            new Failure(Kind.BUSY.code(), "acquire", null, "acquire: held by somebody else");

    private final Client client;
    private final String name;
    private final long handle;

    /** Of the thread that was the last to acquire through this object: found without a map. Racy; who reads it compares the holder. */
    private Holders.@Nullable Levels latest;

    DistributedLock(Client client, String name, long handle) {
        this.client = client;
        this.name = name;
        this.handle = handle;
        Client.CLEANER.register(this, () -> Native.lockFree(handle));
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
     * @throws LockLostException when this thread has lost the lock and not released it yet
     * @throws ConnectionException when the server has not answered for {@code operation_timeout}
     * @throws ClosedException when the client is closed
     */
    @Override
    public void lock() {
        Replies.check(acquire(Arguments.NOT_GIVEN, Arguments.NOT_GIVEN));
    }

    /**
     * As {@link #lock}, but an interrupt ends the wait, and leaves nothing behind.
     *
     * @throws InterruptedException when interrupted before or while waiting
     */
    @Override
    public void lockInterruptibly() throws InterruptedException {
        Replies.check(acquireInterruptibly(Arguments.NOT_GIVEN, Arguments.NOT_GIVEN));
    }

    /**
     * Acquires if nobody holds it now. May overtake those who wait.
     *
     * @return false when somebody holds it
     */
    @Override
    public boolean tryLock() {
        return Replies.doneOrBusy(acquire(0, Arguments.NOT_GIVEN));
    }

    /**
     * Acquires within a time.
     *
     * @param time zero or less does not wait; at most 24 h, or {@link Long#MAX_VALUE} for ever
     * @param unit the unit of {@code time}
     * @return false when it was not to be had in that time
     * @throws InterruptedException when interrupted before or while waiting
     */
    @Override
    public boolean tryLock(long time, TimeUnit unit) throws InterruptedException {
        return Replies.doneOrBusy(acquireInterruptibly(Arguments.waitMillis(time, unit), Arguments.NOT_GIVEN));
    }

    /**
     * Acquires within a time, with a lease that is not renewed.
     *
     * @param wait zero or less does not wait; at most 24 h, or {@link Long#MAX_VALUE} for ever
     * @param lease 100 ms to 24 h, or -1 for the lock's own
     * @param unit the unit of both
     * @return false when it was not to be had in that time
     * @throws InterruptedException when interrupted before or while waiting
     */
    public boolean tryLock(long wait, long lease, TimeUnit unit) throws InterruptedException {
        long leaseMillis = Arguments.leaseMillis(lease, unit);
        return Replies.doneOrBusy(acquireInterruptibly(Arguments.waitMillis(wait, unit), leaseMillis));
    }

    /**
     * Acquires within a time, with a lease that is not renewed.
     *
     * @param wait zero does not wait, at most 24 h; {@code null} waits for ever
     * @param lease 100 ms to 24 h; {@code null} is the lock's own
     * @return false when it was not to be had in that time
     * @throws InterruptedException when interrupted before or while waiting
     */
    public boolean tryLock(@Nullable Duration wait, @Nullable Duration lease) throws InterruptedException {
        long leaseMillis = Arguments.leaseMillis(lease);
        return Replies.doneOrBusy(acquireInterruptibly(Arguments.waitMillis(wait), leaseMillis));
    }

    /**
     * Gives up one level of this thread's hold; the last one frees the lock.
     *
     * @throws NotHeldException when this thread does not hold it, or has lost it
     * @throws OutcomeUnknownException when no reply came; the hold is over all the same, and the lease runs out
     */
    @Override
    public void unlock() {
        long holder = Holders.thisThread();
        Holders.Levels levels = levels(holder);
        if (levels != null && leftInner(holder)) {
            levels.take();
            return;
        }
        latest = null;
        try {
            Replies.check(call(releasing(holder)));
        } finally {
            client.holders().leave(name);
        }
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
     * Whether the calling thread holds it, and has not lost it. No I/O.
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
        try {
            return Native.lockHoldCount(handle, Holders.thisThread());
        } finally {
            Reference.reachabilityFence(this);
        }
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
        Hold hold = client.holders().hold(name);
        return hold != null && Native.heldValid(hold.handle());
    }

    /**
     * How long this thread's hold stays valid without another renewal. No I/O.
     *
     * @return zero when it is over, or there is none
     */
    public Duration remaining() {
        Hold hold = client.holders().hold(name);
        return hold == null ? Duration.ZERO : Duration.ofNanos(Native.heldRemaining(hold.handle()));
    }

    /**
     * The signal that this thread's hold was lost: before the server can grant the name to somebody else, also while the server cannot
     * be reached. Only a removed key, or a jump of the server's clock or data, is noticed later: at the next renewal, a third of the
     * lease at most.
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
        long holder = Holders.thisThread();
        long millis = Arguments.millis(lease);
        Replies.check(call((port, id) -> Native.lockExtend(port, id, handle, holder, millis)));
    }

    /**
     * Lets go of this thread's hold without freeing the lock: it stays taken for a lease that starts anew.
     *
     * @return a text for {@link #attach} in another thread or process, good for one of them
     * @throws NotHeldException when this thread does not hold it, or not any more
     * @throws InvalidArgumentException when it holds it more than once
     */
    public String detach() {
        long holder = Holders.thisThread();
        Object reply = call((port, id) -> Native.lockDetach(port, id, handle, holder));
        String text = Replies.of(reply, String.class);
        latest = null;
        client.holders().leave(name);
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
        byte[] text = Arguments.textBytes(detached, "detached hold", "attach");
        long holder = Holders.thisThread();
        Replies.check(entering(() -> call((port, id) -> Native.lockAttach(port, id, handle, holder, text))));
    }

    /**
     * Who holds the lock, for how long, and the last token, as the server says now.
     *
     * @return what it said
     */
    public Inspection inspect() {
        Object reply = call((port, id) -> Native.lockInspect(port, id, handle));
        return Inspection.of(Replies.of(reply, Seen.class));
    }

    /**
     * Frees the lock whoever holds it: for operators, since the holder may still be at work. It learns of it at its next renewal.
     *
     * @return whether anybody did
     */
    public boolean forceRelease() {
        return Replies.of(call((port, id) -> Native.lockForceRelease(port, id, handle)), Boolean.class);
    }

    /**
     * Acquires for a handle, waiting as long as it takes.
     *
     * @return the hold; cancelling the future cancels the acquire and leaves nothing behind
     */
    public CompletableFuture<LockHandle> lockAsync() {
        return acquireAsync(Arguments.NOT_GIVEN, Arguments.NOT_GIVEN, this::granted);
    }

    /**
     * Acquires for a handle within a time.
     *
     * @param wait zero does not wait, at most 24 h; {@code null} waits for ever
     * @param lease 100 ms to 24 h, not renewed; {@code null} is the lock's own
     * @return the hold, or {@link AcquireTimeoutException} when it was not to be had in that time; cancelling as for
     *     {@link #lockAsync()}
     */
    public CompletableFuture<LockHandle> lockAsync(@Nullable Duration wait, @Nullable Duration lease) {
        return acquireAsync(Arguments.waitMillis(wait), Arguments.leaseMillis(lease), this::granted);
    }

    /**
     * Acquires for a handle if nobody holds the lock now.
     *
     * @return the hold, or {@code null} when somebody does; cancelling as for {@link #lockAsync()}
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
        try {
            byte[] text = Arguments.textBytes(detached, "detached hold", "attach");
            Port.Submit call = (port, id) -> Native.lockAttach(port, id, handle, NO_HOLDER, text);
            return start(call, this::granted);
        } catch (InvalidArgumentException refused) {
            return CompletableFuture.failedFuture(refused);
        }
    }

    private <T extends @Nullable LockHandle> CompletableFuture<T> acquireAsync(
            long waitMillis, long leaseMillis, Function<Object, T> convert) {
        return start((port, id) -> Native.lockAcquire(port, id, handle, NO_HOLDER, waitMillis, leaseMillis), convert);
    }

    private <T extends @Nullable LockHandle> CompletableFuture<T> start(Port.Submit call, Function<Object, T> convert) {
        try {
            return client.port().start(call, convert, late -> {
                if (late != null) {
                    late.forget();
                }
            });
        } finally {
            Reference.reachabilityFence(this);
        }
    }

    private LockHandle granted(Object reply) {
        return new LockHandle(this, client.port(), Replies.of(reply, Hold.class));
    }

    private Object acquire(long waitMillis, long leaseMillis) {
        long holder = Holders.thisThread();
        if (entersAgain(holder, waitMillis, leaseMillis)) {
            return Wire.DONE;
        }
        Hold direct = Threads.mayBlock() ? new Hold() : null;
        return entering(() -> granted(call(acquiring(holder, waitMillis, leaseMillis, direct)), direct));
    }

    private Object acquireInterruptibly(long waitMillis, long leaseMillis) throws InterruptedException {
        if (Thread.interrupted()) {
            throw new InterruptedException();
        }
        long holder = Holders.thisThread();
        if (entersAgain(holder, waitMillis, leaseMillis)) {
            return Wire.DONE;
        }
        Hold direct = Threads.mayBlock() ? new Hold() : null;
        Port.Submit asking = acquiring(holder, waitMillis, leaseMillis, direct);
        return entering(() -> {
            try {
                return granted(client.port().callInterruptibly(asking), direct);
            } finally {
                Reference.reachabilityFence(this);
            }
        });
    }

    /** {@code direct}: to be filled by the round trip of a thread that may block. */
    private Port.Submit acquiring(long holder, long waitMillis, long leaseMillis, @Nullable Hold direct) {
        if (direct == null) {
            return (port, id) -> Native.lockAcquire(port, id, handle, holder, waitMillis, leaseMillis);
        }
        return (port, id) ->
                Native.lockAcquireDirectly(port, id, handle, holder, waitMillis, leaseMillis, direct.numbers());
    }

    private static Object granted(Object reply, @Nullable Hold direct) {
        if (direct == null || reply != Wire.DONE) {
            return reply;
        }
        return direct.handle() == 0 ? BUSY : direct;
    }

    private Port.Submit releasing(long holder) {
        if (Threads.mayBlock()) {
            return (port, id) -> Native.lockReleaseDirectly(port, id, handle, holder);
        }
        return (port, id) -> Native.lockRelease(port, id, handle, holder);
    }

    /** One more level of what this thread holds, if that takes no more than counting. */
    private boolean entersAgain(long holder, long waitMillis, long leaseMillis) {
        Holders.Levels levels = levels(holder);
        try {
            if (levels == null || !Native.lockReenter(handle, holder, waitMillis, leaseMillis)) {
                return false;
            }
        } finally {
            Reference.reachabilityFence(this);
        }
        levels.add();
        return true;
    }

    private boolean leftInner(long holder) {
        try {
            return Native.lockLeave(handle, holder);
        } finally {
            Reference.reachabilityFence(this);
        }
    }

    /** What this thread holds of the lock, through this object or another. */
    private Holders.@Nullable Levels levels(long holder) {
        Holders.Levels seen = latest;
        return seen != null && seen.holder() == holder ? seen : client.holders().levels(name);
    }

    private interface Asking<E extends Exception> {
        Object ask() throws E;
    }

    /** This thread is known to be a holder from before it asks until it has nothing any more. */
    private <E extends Exception> Object entering(Asking<E> asking) throws E {
        Holders holders = client.holders();
        holders.enter(name, this);
        boolean entered = false;
        try {
            Object reply = asking.ask();
            entered = reply instanceof Hold || reply == Wire.DONE;
            if (reply instanceof Hold hold) {
                holders.granted(name, hold);
                latest = holders.levels(name);
            }
            return reply;
        } finally {
            if (!entered) {
                holders.leave(name);
            }
        }
    }

    private Object call(Port.Submit call) {
        try {
            return client.port().call(call);
        } finally {
            Reference.reachabilityFence(this);
        }
    }

    private Hold hold(String op) {
        Hold hold = client.holders().hold(name);
        if (hold == null) {
            throw new NotHeldException(op + " \"" + name + "\": this thread does not hold the lock", op, name);
        }
        return hold;
    }

    /** The name, for logs and debuggers. */
    @Override
    public String toString() {
        return "DistributedLock[" + name + "]";
    }
}
