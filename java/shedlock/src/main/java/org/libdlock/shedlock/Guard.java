package org.libdlock.shedlock;

import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletionException;
import org.jspecify.annotations.Nullable;
import org.libdlock.Client;
import org.libdlock.DistributedLock;
import org.libdlock.HoldEndedException;
import org.libdlock.LockHandle;
import org.libdlock.LockOptions;

/**
 * The lock for {@code lockAtLeastFor}: who holds the task's lock may run the task only if this one is free too, and takes it for that
 * time. It is detached at once, so that neither a crash nor closing the client shortens it, and ends with its lease.
 *
 * <p>The order makes it safe without a step that changes both: it is looked at, taken and replaced only by the holder of the task's
 * lock, and the task's lock is released only after that.
 */
record Guard(Client client, String name) {
    /** What was taken; without a text nothing was, because no time is to pass. */
    record Hold(Duration lasts, @Nullable String detached) {
        static final Hold NONE = new Hold(Duration.ZERO, null);
    }

    /** Empty when the last run was too recent. */
    Optional<Hold> take(Duration least) {
        if (least.isZero() || least.isNegative()) {
            return client.lock(name).isLocked() ? Optional.empty() : Optional.of(Hold.NONE);
        }
        DistributedLock lock =
                client.lock(name, LockOptions.defaults().lease(LibdlockLockProvider.atLeastTheShortest(least)));
        LockHandle handle = lock.tryAcquire();
        if (handle == null) {
            return Optional.empty();
        }
        try {
            return Optional.of(new Hold(least, handle.detach()));
        } catch (RuntimeException failed) {
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
        if (earlier.detached() == null) {
            return;
        }
        try {
            client.lock(name).attachAsync(earlier.detached()).join().release();
        } catch (CompletionException failed) {
            if (!(failed.getCause() instanceof HoldEndedException)) {
                throw failed.getCause() instanceof RuntimeException cause ? cause : failed;
            }
        } catch (HoldEndedException over) {
            // Its time was over: what was to be.
            return;
        }
    }
}
