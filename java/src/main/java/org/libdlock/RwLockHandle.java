package org.libdlock;

import org.libdlock.internal.Hold;
import org.libdlock.internal.Native;
import org.libdlock.internal.Port;

/**
 * A hold of one side of a read-write lock that belongs to this object and to no thread: what {@link RwLockSide#acquire()} and
 * {@link RwLockSide#lockAsync()} give. May be used, and released, from any thread.
 *
 * <p>Close or release it: {@link #close()} gives up every level. One that is collected while it holds is no longer renewed, a warning is
 * logged, and the lease runs out.
 */
public final class RwLockHandle extends FencedHandle {
    private final RwLockSide side;

    RwLockHandle(RwLockSide side, Port port, Hold hold) {
        super("the " + (side.isWrite() ? "write" : "read") + " side", side.name(), port, hold);
        this.side = side;
    }

    /**
     * The side that is held.
     *
     * @return the one whose method gave this handle
     */
    public RwLockSide side() {
        return side;
    }

    /**
     * Goes on as a reader: nobody writes in between, and readers that wait are woken. One level of this hold of the write side ends; the
     * last one ends it.
     *
     * @return the hold of the read side
     * @throws InvalidArgumentException when this is a hold of the read side
     * @throws NotHeldException when the hold is over, or was lost
     * @throws OutcomeUnknownException when no reply came
     */
    public RwLockHandle downgrade() {
        Hold hold = Replies.of(ending("downgrade", Native::heldDowngrade), Hold.class);
        return side.read().handle(hold);
    }

    /** The lock's name, the side and the token, for logs and debuggers. */
    @Override
    public String toString() {
        return "RwLockHandle[" + side.name() + ", " + (side.isWrite() ? "write" : "read") + ", token " + token() + "]";
    }
}
