package org.libdlock.shedlock;

import java.time.Duration;
import java.util.Optional;
import net.javacrumbs.shedlock.core.AbstractSimpleLock;
import net.javacrumbs.shedlock.core.LockConfiguration;
import net.javacrumbs.shedlock.core.SimpleLock;
import org.libdlock.HoldEndedException;
import org.libdlock.LockHandle;

/** The lock of a task that runs. */
final class ScheduledLock extends AbstractSimpleLock {
    private static final System.Logger LOGGER = System.getLogger("org.libdlock");

    private final LibdlockLockProvider provider;
    private final LockHandle handle;

    /** Of {@link System#nanoTime}: when {@code lockAtMostFor} is over. The lease may be longer by the shortest that there is. */
    private final long until;

    private final Guard.Hold guard;

    ScheduledLock(
            LibdlockLockProvider provider,
            LockConfiguration configuration,
            LockHandle handle,
            long until,
            Guard.Hold guard) {
        super(configuration);
        this.provider = provider;
        this.handle = handle;
        this.until = until;
        this.guard = guard;
    }

    /** What {@code lockAtLeastFor} leaves is kept by the guard, which is there since before the task began. */
    @Override
    protected void doUnlock() {
        try {
            handle.release();
        } catch (HoldEndedException over) {
            // The scheduler is told what became of the task, which has ended.
            LOGGER.log(
                    System.Logger.Level.WARNING,
                    "the task \"" + lockConfiguration.getName() + "\" ran longer than lockAtMostFor ("
                            + lockConfiguration.getLockAtMostFor() + "): another node may have run it at the same time",
                    over);
        }
    }

    @Override
    protected Optional<SimpleLock> doExtend(LockConfiguration extended) {
        Duration lease = LibdlockLockProvider.lease(extended);
        long sent = System.nanoTime();
        try {
            if (sent - until >= 0) {
                handle.release();
                return Optional.empty();
            }
            handle.extend(lease);
        } catch (HoldEndedException over) {
            return Optional.empty();
        }
        Guard.Hold kept = provider.guard(extended).replace(guard, extended.getLockAtLeastFor());
        long later = Math.max(until - sent, extended.getLockAtMostFor().toNanos());
        return Optional.of(new ScheduledLock(provider, extended, handle, sent + later, kept));
    }
}
