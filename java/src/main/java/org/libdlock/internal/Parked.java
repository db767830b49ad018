package org.libdlock.internal;

import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/** A thread, platform or virtual, that sleeps in Java until its operation is done. */
class Parked implements Pending {
    private final Thread thread = Thread.currentThread();
    private volatile @Nullable Object reply;

    @Override
    public void done(Object reply) {
        this.reply = reply;
        LockSupport.unpark(thread);
    }

    /** Waits whatever happens; an interrupt is kept for later. */
    Object await() {
        Object reply = this.reply;
        boolean interrupted = false;
        while (reply == null) {
            LockSupport.park(this);
            interrupted |= Thread.interrupted();
            reply = this.reply;
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
        return reply;
    }

    /**
     * Waits until the operation is done or the thread is interrupted: then it is cancelled. Should it have been done just then, its
     * reply stands, and the interrupt is kept for later.
     */
    Object awaitOrCancel(long op) throws InterruptedException {
        Object reply = this.reply;
        while (reply == null) {
            LockSupport.park(this);
            if (Thread.interrupted()) {
                if (this.reply == null && Native.cancel(op)) {
                    throw new InterruptedException();
                }
                Thread.currentThread().interrupt();
                return await();
            }
            reply = this.reply;
        }
        return reply;
    }
}
