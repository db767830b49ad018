package org.libdlock;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Future;
import org.jspecify.annotations.Nullable;
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
public abstract sealed class Held extends Leased permits FencedHandle, LockAllHandle, NumberHandle, PermitsHandle {
    /** How many calls under way may end the hold, and what completes when there are none; guarded by this. */
    private int ending;

    /** Whether one of those calls began while another was under way; guarded by this. */
    private boolean overtaken;

    private @Nullable CompletableFuture<@Nullable Void> settled;

    Held(String what, String name, Port port, Hold hold) {
        super(what, name, port, hold);
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
                Replies.check(left(port().call(releasing())));
            }
        } finally {
            settle();
        }
    }

    /** Not under the monitor, which others need to look at the hold while this waits for the server. */
    private void releaseBlocking() {
        check("release");
        try {
            Native.heldReleaseBlocking(granted().handle());
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
        boolean begun = false;
        begin();
        try {
            CompletableFuture<@Nullable Void> released =
                    port().<@Nullable Void>startEnding(Port.Lane.CALLBACKS, releasing(), this::released);
            begun = true;
            return released;
        } catch (NotHeldException over) {
            return CompletableFuture.failedFuture(over);
        } finally {
            if (!begun) {
                settle();
            }
        }
    }

    private @Nullable Void released(Object reply) {
        try {
            Replies.check(left(reply));
            return null;
        } finally {
            settle();
        }
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
                if (isOver()) {
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
        LossReason reason = lossAtEnd();
        if (reason != null) {
            throw notHeld("release", "the hold was lost: " + reason);
        }
    }

    /** Runs an operation that may end the hold. */
    final Object ending(String op, Ending operation) {
        begin();
        try {
            return left(port().call(whileHeld(
                    op, (to, id) -> operation.submit(to, id, granted().handle()))));
        } finally {
            settle();
        }
    }

    /** For a hold that came when nobody wanted it any more. */
    final void forget() {
        Future<?> unused = releaseAsync().exceptionally(error -> {
            String message = "a hold that came too late was not confirmed as released, its lease runs out instead";
            System.getLogger("org.libdlock").log(System.Logger.Level.WARNING, message, error);
            return null;
        });
    }

    private Port.Submit releasing() {
        return whileHeld(
                "release", (to, id) -> Native.heldRelease(to, id, granted().handle()));
    }
}
