package org.libdlock;

import org.libdlock.internal.Hold;
import org.libdlock.internal.Native;
import org.libdlock.internal.Port;

/**
 * A hold of a lock that belongs to this object and to no thread: what {@link DistributedLock#acquire()} and
 * {@link DistributedLock#lockAsync()} give. May be used, and released, from any thread.
 *
 * <p>Close or release it: {@link #close()} gives up every level. One that is collected while it holds is no longer renewed, a warning is
 * logged, and the lease runs out.
 */
public final class LockHandle extends FencedHandle {
    private final DistributedLock lock;

    LockHandle(DistributedLock lock, Port port, Hold hold) {
        super("the lock", lock.name(), port, hold);
        this.lock = lock;
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
     * Lets go of the hold without freeing the lock; see {@link DistributedLock#detach()}.
     *
     * @return a text for {@link DistributedLock#attach} or {@link DistributedLock#attachAsync}
     * @throws NotHeldException when the hold is over, or was lost
     * @throws InvalidArgumentException when it is held more than once
     */
    public String detach() {
        return Replies.of(ending("detach", Native::heldDetach), String.class);
    }

    /** The lock's name and the token, for logs and debuggers. */
    @Override
    public String toString() {
        return "LockHandle[" + lock.name() + ", token " + token() + "]";
    }
}
