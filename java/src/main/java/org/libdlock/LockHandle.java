package org.libdlock;

import java.lang.ref.Cleaner;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.libdlock.internal.Hold;
import org.libdlock.internal.Native;
import org.libdlock.internal.Port;
import org.libdlock.internal.Wire;

/**
 * A hold that belongs to this object and to no thread: what {@link DistributedLock#lockAsync()} gives. May be used, and released, from any
 * thread.
 *
 * <p>Close or release it. One that is collected while it holds is no longer renewed, a warning is logged, and the lease runs out.
 */
public final class LockHandle implements AutoCloseable {
    /** The first loss in the life of a JVM comes 25 ms before the end of the lease: too short to load classes then. */
    private static final AtomicBoolean REHEARSED = new AtomicBoolean();

    private final DistributedLock lock;
    private final Port port;
    private final Hold hold;
    private final Cleaner.Cleanable freeing;

    /** Guarded by this, and with it every use of the native handle, which is given back at the end. */
    private boolean ended;

    private @Nullable LossReason lossAtEnd;

    LockHandle(DistributedLock lock, Port port, Hold hold) {
        this.lock = lock;
        this.port = port;
        this.hold = hold;
        long handle = hold.handle();
        this.freeing = Client.CLEANER.register(this, () -> Native.heldFree(handle));
    }

    /**
     * The lock that is held.
     *
     * @return the one whose method gave this handle
     */
    public DistributedLock lock() {
        return lock;
    }

    /**
     * The fencing token: larger than that of any earlier hold of this name, below 2<sup>53</sup>.
     *
     * @return the token, also after the end
     */
    public long token() {
        return hold.token();
    }

    /**
     * The owner as the server knows it.
     *
     * @return {@code <client uuid>:<n>}
     */
    public String owner() {
        return hold.owner();
    }

    /**
     * Whether the lock is still held for certain, by this machine's monotonic clock. No I/O.
     *
     * @return false from the end of the lease on, and after the release
     */
    public boolean isValid() {
        return ask(false, Native::heldValid);
    }

    /**
     * How long the hold stays valid without another renewal. No I/O.
     *
     * @return zero when it is over
     */
    public Duration remaining() {
        return Duration.ofNanos(ask(0L, Native::heldRemaining));
    }

    /**
     * How many releases it takes to end the hold. No I/O.
     *
     * @return 0 when it is over
     */
    public int getHoldCount() {
        return ask(0, Native::heldHoldCount);
    }

    /**
     * The signal that the hold was lost, as {@link DistributedLock#onLost()} has it.
     *
     * @return completes with the reason; cancelled when the hold ends by a release
     */
    public CompletableFuture<LossReason> onLost() {
        synchronized (this) {
            if (ended) {
                return lossAtEnd == null
                        ? CompletableFuture.failedFuture(released())
                        : CompletableFuture.completedFuture(lossAtEnd);
            }
            return lossOf(port, hold.handle());
        }
    }

    /**
     * Makes the hold last for {@code lease} from now, or as long as it did if that is longer.
     *
     * @param lease 100 ms to 24 h
     * @throws NotHeldException when it is over
     */
    public void extend(Duration lease) {
        long millis = Arguments.millis(lease);
        Replies.check(port.call(whileHeld("extend", (to, id) -> Native.heldExtend(to, id, hold.handle(), millis))));
    }

    /**
     * Acquires what this handle holds once more, without I/O: it then takes one more release to end it.
     *
     * @throws DeadlockException when the lock is not re-entrant
     * @throws LockLostException when the hold was lost
     * @throws NotHeldException when it is over
     */
    public synchronized void reenter() {
        check("acquire");
        Native.heldReenter(hold.handle());
    }

    /**
     * Gives up one level; the last one frees the lock.
     *
     * @throws NotHeldException when the hold is over, or was lost
     * @throws OutcomeUnknownException when no reply came; the hold is over all the same, and the lease runs out
     */
    public void release() {
        Replies.check(left(port.call(releasing())));
    }

    /**
     * As {@link #release}, without waiting for it.
     *
     * @return completes when it is done; cancelling the future does not stop the release
     */
    public CompletableFuture<@Nullable Void> releaseAsync() {
        CompletableFuture<Object> released;
        try {
            released = port.start(releasing(), Function.identity(), late -> {});
        } catch (NotHeldException over) {
            return CompletableFuture.failedFuture(over);
        }
        return released.thenApply(this::left).thenApply(reply -> {
            Replies.check(reply);
            return null;
        });
    }

    /**
     * Lets go of the hold without freeing the lock; see {@link DistributedLock#detach()}.
     *
     * @return a text for {@link DistributedLock#attach} or {@link DistributedLock#attachAsync}
     * @throws NotHeldException when the hold is over, or was lost
     * @throws InvalidArgumentException when it is held more than once
     */
    public String detach() {
        Object reply = port.call(whileHeld("detach", (to, id) -> Native.heldDetach(to, id, hold.handle())));
        return Replies.of(left(reply), String.class);
    }

    /**
     * Releases every level that is still held; does nothing when the hold has been ended before.
     *
     * @throws NotHeldException when it was lost meanwhile, so that this does not go by unseen
     */
    @Override
    public void close() {
        while (!hasEnded()) {
            release();
        }
    }

    /** For a hold that came when nobody wanted it any more. */
    void forget() {
        Future<?> unused = releaseAsync().exceptionally(error -> {
            String message = "a hold that came too late was not confirmed as released, its lease runs out instead";
            System.getLogger("org.libdlock").log(System.Logger.Level.WARNING, message, error);
            return null;
        });
    }

    static CompletableFuture<LossReason> lossOf(Port port, long held) {
        if (REHEARSED.compareAndSet(false, true)) {
            Future<?> unused = port.rehearse("expired", LockHandle::loss).thenAccept(reason -> {});
        }
        return port.start((to, id) -> Native.heldWaitLost(to, id, held), LockHandle::loss, late -> {});
    }

    private static LossReason loss(Object reply) {
        if (reply == Wire.NOT_LOST) {
            throw released();
        }
        return LossReason.of(Replies.of(reply, String.class));
    }

    private static CancelledException released() {
        return new CancelledException("lost: the hold was released", "lost", null);
    }

    private interface Question<T> {
        T ask(long held);
    }

    private synchronized <T> T ask(T afterTheEnd, Question<T> question) {
        return ended ? afterTheEnd : question.ask(hold.handle());
    }

    private synchronized boolean hasEnded() {
        return ended;
    }

    private synchronized void check(String op) {
        if (ended) {
            String message = op + " \"" + lock.name() + "\": this handle does not hold the lock any more";
            throw new NotHeldException(message, op, lock.name());
        }
    }

    private Port.Submit releasing() {
        return whileHeld("release", (to, id) -> Native.heldRelease(to, id, hold.handle()));
    }

    /** The native library looks the handle up before the call returns. */
    private Port.Submit whileHeld(String op, Port.Submit call) {
        return (to, id) -> {
            synchronized (this) {
                check(op);
                return call.submit(to, id);
            }
        };
    }

    /** After what may have ended the hold. The native handle is not left to the garbage collector, which knows nothing of its weight. */
    private synchronized Object left(Object reply) {
        if (!ended && Native.heldHoldCount(hold.handle()) == 0) {
            ended = true;
            byte[] loss = Native.heldLoss(hold.handle());
            lossAtEnd = loss == null ? null : LossReason.of(new String(loss, StandardCharsets.UTF_8));
            freeing.clean();
        }
        return reply;
    }

    /** The lock's name and the token, for logs and debuggers. */
    @Override
    public String toString() {
        return "LockHandle[" + lock.name() + ", token " + token() + "]";
    }
}
