package org.libdlock.shedlock;

import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletionException;
import org.jspecify.annotations.Nullable;
import org.libdlock.Client;
import org.libdlock.ConnectionException;
import org.libdlock.HoldEndedException;
import org.libdlock.LockHandle;
import org.libdlock.LockOptions;
import org.libdlock.UnavailableException;

/**
 * The lock for {@code lockAtLeastFor}: who holds the task's lock may run the task only if this one is free too, and takes it for that
 * time. It is detached at once, so that neither a crash nor closing the client shortens it, and ends with its lease.
 *
 * <p>The order makes it safe without a step that changes both: it is looked at, taken and replaced only by the holder of the task's
 * lock, and the task's lock is released only after that.
 */
record Guard(Client client, String name) {
    /**
     * A guard that was taken; without a text none was, because no time is to pass.
     *
     * @param until of {@link System#nanoTime}: when it is over for certain
     */
    record Hold(long until, @Nullable String detached) {
        static final Hold NONE = new Hold(0, null);

        boolean isOver() {
            return System.nanoTime() - until >= 0;
        }
    }

    /** Empty when the last run was too recent. */
    Optional<Hold> take(Duration least) {
        if (least.isZero() || least.isNegative()) {
            return free();
        }
        Duration lease = LibdlockLockProvider.atLeastTheShortest(least);
        long sent = System.nanoTime();
        LockHandle handle;
        try {
            handle = client.lock(name, LockOptions.defaults().lease(lease)).tryAcquire();
        } catch (ConnectionException late) {
            if (!isAboutOver(sent, lease)) {
                throw late;
            }
            return freeAfter(lease.minusNanos(System.nanoTime() - sent), late);
        }
        return handle == null ? Optional.empty() : Optional.of(detached(handle, sent, lease));
    }

    private Optional<Hold> free() {
        return client.lock(name).isLocked() ? Optional.empty() : Optional.of(Hold.NONE);
    }

    /** Whether an error comes of an answer that took about as long as the lease. */
    private static boolean isAboutOver(long sent, Duration lease) {
        return 2 * (System.nanoTime() - sent) >= lease.toNanos();
    }

    /** The server granted the guard too late. Once its time is over, nobody has to be kept away any more. */
    private Optional<Hold> freeAfter(Duration left, ConnectionException late) {
        try {
            Thread.sleep(Math.max(0, left.toMillis() + 1));
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
            throw late;
        }
        return free();
    }

    /** A guard whose time was over before it was detached has kept others away for as long as it was to: nobody releases it. */
    private static Hold detached(LockHandle handle, long sent, Duration lease) {
        try {
            String text = handle.detach();
            return new Hold(System.nanoTime() + lease.toNanos(), text);
        } catch (HoldEndedException over) {
            return Hold.NONE;
        } catch (RuntimeException failed) {
            if (failed instanceof UnavailableException && isAboutOver(sent, lease)) {
                return Hold.NONE;
            }
            try {
                handle.close();
            } catch (RuntimeException also) {
                failed.addSuppressed(also);
            }
            throw failed;
        }
    }

    /** In place of an earlier hold, which may have ended meanwhile. */
    Hold replace(Hold earlier, Duration least) {
        release(earlier);
        return least.isZero() ? Hold.NONE : take(least).orElse(Hold.NONE);
    }

    private void release(Hold earlier) {
        String detached = earlier.detached();
        if (detached == null || earlier.isOver()) {
            return;
        }
        try {
            client.lock(name).attachAsync(detached).join().release();
        } catch (CompletionException failed) {
            RuntimeException cause = failed.getCause() instanceof RuntimeException known ? known : failed;
            throwUnlessOver(earlier, cause);
        } catch (RuntimeException failed) {
            throwUnlessOver(earlier, failed);
        }
    }

    /** A hold whose time is over, or was when the server answered, needs no release. */
    private static void throwUnlessOver(Hold earlier, RuntimeException failed) {
        if (!(failed instanceof HoldEndedException) && !earlier.isOver()) {
            throw failed;
        }
    }
}
