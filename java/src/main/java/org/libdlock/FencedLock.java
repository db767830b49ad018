package org.libdlock;

import org.jspecify.annotations.Nullable;
import org.libdlock.internal.Hold;
import org.libdlock.internal.Native;

/**
 * What a {@link DistributedLock} and each side of a {@link DistributedReadWriteLock} have in common: one name, and a fencing token for each
 * hold.
 *
 * @param <H> the handle of a hold
 */
public abstract sealed class FencedLock<H extends FencedHandle> extends LeasedLock<H>
        permits DistributedLock, RwLockSide {
    private final String name;

    FencedLock(Client client, LockCalls calls, String name, long handle) {
        super(client, calls, lock -> new NativeLock<>(client, calls, lock, name, handle));
        this.name = name;
    }

    /**
     * The name.
     *
     * @return without the client's key prefix
     */
    public String name() {
        return name;
    }

    /**
     * Whether anybody holds it, as the server says now.
     *
     * @return true also for holders elsewhere
     */
    public abstract boolean isLocked();

    /**
     * The fencing token of this thread's hold, also of one through a {@link DistributedLockAll}: larger than that of any earlier hold of
     * this name, below 2<sup>53</sup>. No I/O.
     *
     * @return the token
     * @throws NotHeldException when this thread holds nothing
     */
    public long token() {
        Hold hold = inner.hold();
        return hold == null ? known("token", inner.ask(Native::heldToken)) : hold.token();
    }

    /**
     * The owner as the server knows it. No I/O.
     *
     * @return {@code <client uuid>:<n>}, and of a write side {@code <client uuid>:<n>:write}
     * @throws NotHeldException when this thread holds nothing
     */
    public String owner() {
        Hold hold = inner.hold();
        return hold == null ? known("owner", inner.ask(Hold::ownerOf)) : hold.owner();
    }

    private <T> T known(String op, @Nullable T answer) {
        if (answer == null) {
            throw nothing(op);
        }
        return answer;
    }

    /** The name, for logs and debuggers. */
    @Override
    public String toString() {
        return getClass().getSimpleName() + "[" + name + "]";
    }
}
