package org.libdlock;

import java.lang.ref.Cleaner;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.libdlock.internal.Failure;
import org.libdlock.internal.Hold;
import org.libdlock.internal.Native;
import org.libdlock.internal.Port;
import org.libdlock.internal.Threads;
import org.libdlock.internal.Wire;

/**
 * A hold that belongs to this object and to no thread: of a lock a {@link LockHandle}, of a side of a read-write lock a
 * {@link RwLockHandle}, of several locks as one a {@link LockAllHandle}, of a semaphore a {@link PermitsHandle}. May be used, and released,
 * from any thread.
 *
 * <p>Close or release it. One that is collected while it holds is no longer renewed, a warning is logged, and the lease runs out.
 */
public abstract sealed class Held implements AutoCloseable
        permits FencedHandle, LockAllHandle, NumberHandle, PermitsHandle {
    /** The first loss in the life of a JVM comes 25 ms before the end of the lease: too short to load classes then. */
    private static final AtomicBoolean REHEARSED = new AtomicBoolean();

    /** For messages: what is held, "the lock", and its name. */
    private final String what;

    private final String name;
    private final Port port;
    private final Hold hold;
    private final Cleaner.Cleanable freeing;

    /** Guarded by this, and with it every use of the native handle, which is given back at the end. */
    private boolean ended;

    /** How many calls under way may end the hold, and what completes when there are none; guarded by this. */
    private int ending;

    /** Whether one of those calls began while another was under way; guarded by this. */
    private boolean overtaken;

    private @Nullable CompletableFuture<@Nullable Void> settled;

    private @Nullable LossReason lossAtEnd;
    private @Nullable String ownerAtEnd;

    Held(String what, String name, Port port, Hold hold) {
        this.what = what;
        this.name = name;
        this.port = port;
        this.hold = hold;
        long handle = hold.handle();
        this.freeing = Client.CLEANER.register(this, () -> Native.free(handle));
    }

    /** As the server knows it, also after the end; of several locks, which have one each, empty. */
    final synchronized String ownerOnTheServer() {
        return ownerAtEnd != null ? ownerAtEnd : hold.owner();
    }

    /** What is to be known after the end; the native handle is there for the last time. */
    void atEnd(long held) {}

    /**
     * Whether it is still held for certain, by this machine's monotonic clock. No I/O.
     *
     * @return false from the end of the lease on, and after the release
     */
    public final boolean isValid() {
        return ask(false, Native::heldValid);
    }

    /**
     * How long the hold stays valid without another renewal. No I/O.
     *
     * @return zero when it is over
     */
    public final Duration remaining() {
        return Duration.ofNanos(ask(0L, Native::heldRemaining));
    }

    /**
     * The signal that the hold was lost, as {@link LeasedLock#onLost()} has it.
     *
     * @return completes with the reason; cancelled when the hold ends by a release
     */
    public final CompletableFuture<LossReason> onLost() {
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
    public final void extend(Duration lease) {
        Arguments.notNull(lease, "lease");
        long millis = Arguments.millis(lease);
        Replies.check(port.call(whileHeld("extend", (to, id) -> Native.heldExtend(to, id, hold.handle(), millis))));
    }

    /**
     * Ends the hold: of a lock that was entered again only one level, the last one frees it.
     *
     * @throws NotHeldException when the hold is over, or was lost
     * @throws OutcomeUnknownException when no reply came; the hold is over all the same, and the lease runs out
     */
    public final void release() {
        begin();
        releaseBegun();
    }

    private void releaseBegun() {
        try {
            if (Threads.mayBlock()) {
                releaseBlocking();
            } else {
                Replies.check(left(port.call(releasing())));
            }
        } finally {
            settle();
        }
    }

    /** Not under the monitor, which others need to look at the hold while this waits for the server. */
    private void releaseBlocking() {
        check("release");
        try {
            Native.heldReleaseBlocking(hold.handle());
        } catch (ClosedException closed) {
            // The handle may have been given back meanwhile, by a thread that released it, too.
            check("release");
            throw closed;
        } finally {
            left(Wire.DONE);
        }
    }

    /**
     * As {@link #release}, without waiting for it.
     *
     * @return completes when it is done; cancelling the future does not stop the release
     */
    public final CompletableFuture<@Nullable Void> releaseAsync() {
        CompletableFuture<Object> released = null;
        begin();
        try {
            released = port.start(releasing(), Function.identity(), late -> {});
        } catch (NotHeldException over) {
            return CompletableFuture.failedFuture(over);
        } finally {
            if (released == null) {
                settle();
            }
        }
        return released.thenApply(this::left)
                .whenComplete((reply, error) -> settle())
                .thenApply(reply -> {
                    Replies.check(reply);
                    return null;
                });
    }

    /**
     * Releases every level that is still held; does nothing when the hold has been ended before. Waits for a release or detach that
     * is under way.
     *
     * @throws NotHeldException when it was lost meanwhile, so that this does not go by unseen
     */
    @Override
    public final void close() {
        while (true) {
            CompletableFuture<@Nullable Void> others;
            synchronized (this) {
                if (ended) {
                    return;
                }
                others = othersOrBegin();
            }
            if (others == null) {
                releaseUnlessOvertaken();
            } else {
                others.join();
                tellOfLoss();
            }
        }
    }

    /** A release that another thread began meanwhile may have come first: that one tells its caller how it went. */
    private void releaseUnlessOvertaken() {
        try {
            releaseBegun();
        } catch (NotHeldException over) {
            synchronized (this) {
                if (!overtaken) {
                    throw over;
                }
            }
            tellOfLoss();
        }
    }

    private synchronized void begin() {
        overtaken = ending > 0;
        ending++;
    }

    /** Begins when no other call is under way that may end the hold; else what completes when there is none. */
    private synchronized @Nullable CompletableFuture<@Nullable Void> othersOrBegin() {
        if (ending == 0) {
            ending = 1;
            overtaken = false;
            return null;
        }
        if (settled == null) {
            settled = new CompletableFuture<>();
        }
        return settled;
    }

    private void settle() {
        CompletableFuture<@Nullable Void> over = null;
        synchronized (this) {
            if (--ending == 0) {
                over = settled;
                settled = null;
            }
        }
        if (over != null) {
            over.complete(null);
        }
    }

    private synchronized void tellOfLoss() {
        if (ended && lossAtEnd != null) {
            String message = "release \"" + name + "\": the hold was lost: " + lossAtEnd;
            throw new NotHeldException(new Failure(Kind.NOT_HELD.code(), "release", name, message));
        }
    }

    /** Runs an operation that may end the hold. */
    final Object ending(String op, Ending operation) {
        begin();
        try {
            return left(port.call(whileHeld(op, (to, id) -> operation.submit(to, id, hold.handle()))));
        } finally {
            settle();
        }
    }

    /** One call of {@link Native} that starts an operation. */
    @FunctionalInterface
    interface Ending {
        long submit(long port, long id, long held);
    }

    /** As it was granted. */
    final Hold granted() {
        return hold;
    }

    /** For a hold that came when nobody wanted it any more. */
    final void forget() {
        Future<?> unused = releaseAsync().exceptionally(error -> {
            String message = "a hold that came too late was not confirmed as released, its lease runs out instead";
            System.getLogger("org.libdlock").log(System.Logger.Level.WARNING, message, error);
            return null;
        });
    }

    static CompletableFuture<LossReason> lossOf(Port port, long held) {
        if (REHEARSED.compareAndSet(false, true)) {
            Future<?> unused = port.rehearse("expired", Held::loss).thenAccept(reason -> {});
        }
        return port.start((to, id) -> Native.heldWaitLost(to, id, held), Held::loss, late -> {});
    }

    private static LossReason loss(Object reply) {
        if (reply == Wire.NOT_LOST) {
            throw released();
        }
        return LossReason.of(Replies.of(reply, String.class));
    }

    private static CancelledException released() {
        return new CancelledException(new Failure(Kind.CANCELLED.code(), "lost", null, "lost: the hold was released"));
    }

    interface Question<T> {
        T ask(long held);
    }

    final synchronized <T> T ask(T afterTheEnd, Question<T> question) {
        return ended ? afterTheEnd : question.ask(hold.handle());
    }

    final synchronized void check(String op) {
        if (ended) {
            String message = op + " \"" + name + "\": this handle does not hold " + what + " any more";
            throw new NotHeldException(new Failure(Kind.NOT_HELD.code(), op, name, message));
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
            ownerAtEnd = hold.owner();
            byte[] loss = Native.heldLoss(hold.handle());
            lossAtEnd = loss == null ? null : LossReason.of(new String(loss, StandardCharsets.UTF_8));
            atEnd(hold.handle());
            freeing.clean();
        }
        return reply;
    }
}
