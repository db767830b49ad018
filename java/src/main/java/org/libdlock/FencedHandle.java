package org.libdlock;

import org.libdlock.internal.Hold;
import org.libdlock.internal.Native;
import org.libdlock.internal.Port;

/**
 * A hold with a fencing token that belongs to this object and to no thread: of a lock a {@link LockHandle}, of a side of a read-write
 * lock a {@link RwLockHandle}. May be used, and released, from any thread.
 *
 * <p>Close or release it: {@link #close()} gives up every level. One that is collected while it holds is no longer renewed, a warning is
 * logged, and the lease runs out.
 */
public abstract sealed class FencedHandle extends Held permits LockHandle, RwLockHandle {
    FencedHandle(String what, String name, Port port, Hold hold) {
        super(what, name, port, hold);
    }

    /**
     * The fencing token: larger than that of any earlier hold of this name, below 2<sup>53</sup>.
     *
     * @return the token, also after the end
     */
    public long token() {
        return granted().token();
    }

    /**
     * The owner as the server knows it.
     *
     * @return {@code <client uuid>:<n>}, and of a write side {@code <client uuid>:<n>:write}; also after the end
     */
    public String owner() {
        return ownerOnTheServer();
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
     * Acquires what this handle holds once more, without I/O: it then takes one more release to end it.
     *
     * @throws DeadlockException when the lock is not re-entrant
     * @throws LockLostException when the hold was lost
     * @throws NotHeldException when it is over
     */
    public synchronized void reenter() {
        check("acquire");
        Native.heldReenter(granted().handle());
    }
}
