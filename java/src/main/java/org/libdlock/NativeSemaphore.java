package org.libdlock;

import java.lang.ref.Reference;
import org.jspecify.annotations.Nullable;
import org.libdlock.internal.Hold;
import org.libdlock.internal.Holders;
import org.libdlock.internal.Native;
import org.libdlock.internal.Threads;

/**
 * A semaphore's native half. Each acquire of a thread is a hold of its own, which the core alone knows: here it is only counted, for the
 * end of the thread.
 */
final class NativeSemaphore extends Acquirable<PermitsHandle> {
    private final DistributedSemaphore semaphore;

    NativeSemaphore(Client client, DistributedSemaphore semaphore, String name, long handle) {
        super(client, "semaphore", name, handle);
        this.semaphore = semaphore;
    }

    /** One acquire. */
    record Taking(int permits, long waitMillis, long leaseMillis) implements Acquire {
        @Override
        public long submit(long port, long id, long of, long holder) {
            return Native.semaphoreAcquire(port, id, of, holder, permits, waitMillis, leaseMillis);
        }

        @Override
        public boolean block(long of, long holder, long cancel, boolean busyThrows, long[] granted) {
            return Native.semaphoreAcquireBlocking(
                    of, holder, permits, waitMillis, leaseMillis, cancel, busyThrows, granted);
        }
    }

    /**
     * Ends the latest holds of the calling thread that have so many permits together. All of them, whatever becomes of the first; what
     * became of the others is suppressed in its exception.
     */
    void release(int permits) {
        RuntimeException failed = null;
        for (int holds = holdsOf(permits); holds > 0; holds--) {
            try {
                releaseLatest();
            } catch (RuntimeException error) {
                if (failed == null) {
                    failed = error;
                } else {
                    failed.addSuppressed(error);
                }
            }
        }
        if (failed != null) {
            throw failed;
        }
    }

    private int holdsOf(int permits) {
        try {
            return Native.semaphoreHoldsOf(handle, Holders.thisThread(), permits);
        } catch (NotHeldException | ClosedException nothing) {
            client.holders().forget(key);
            throw nothing;
        } finally {
            Reference.reachabilityFence(this);
        }
    }

    private void releaseLatest() {
        try {
            if (Threads.mayBlock()) {
                Native.semaphoreReleaseBlocking(handle, Holders.thisThread());
            } else {
                Replies.check(call(Native::semaphoreRelease));
            }
        } finally {
            client.holders().leave(key);
            Reference.reachabilityFence(this);
        }
    }

    /** How many holds the calling thread has that are not lost. */
    int holdCount() {
        try {
            return Native.semaphoreHoldCount(handle, Holders.thisThread());
        } finally {
            Reference.reachabilityFence(this);
        }
    }

    /** Asks the calling thread's latest hold, lost or not; null when it has none. */
    <T> @Nullable T askLatest(Question<T> question) {
        return ask(Native::semaphoreHeld, question);
    }

    @Override
    PermitsHandle handle(Hold hold) {
        return new PermitsHandle(semaphore, client.port(), hold);
    }

    @Override
    void keep(Hold granted) {
        Native.free(granted.handle());
    }
}
