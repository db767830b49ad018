package org.libdlock;

import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.libdlock.internal.Hold;
import org.libdlock.internal.Native;
import org.libdlock.internal.Port;

/**
 * A hold of several locks as one that belongs to this object and to no thread: what {@link DistributedLockAll#acquire()} and
 * {@link DistributedLockAll#lockAsync()} give. It is valid as long as each lock is. May be used, and released, from any thread.
 *
 * <p>Close or release it: {@link #close()} gives up every level. One that is collected while it holds is no longer renewed, a warning is
 * logged, and the leases run out.
 */
public final class LockAllHandle extends Held {
    private final DistributedLockAll set;
    private final Map<String, Long> tokens;

    /** Written once, under the monitor. */
    private Optional<LostMember> lostAtEnd = Optional.empty();

    LockAllHandle(DistributedLockAll set, Port port, Hold hold) {
        super("these locks", set.inner.name(), port, hold);
        this.set = set;
        this.tokens = NativeLockAll.tokens(hold.handle());
    }

    /**
     * The locks that are held.
     *
     * @return the object whose method gave this handle
     */
    public DistributedLockAll lockAll() {
        return set;
    }

    /**
     * The fencing token of each lock: larger than that of any earlier hold of its name, below 2<sup>53</sup>. Each counts for the resource of
     * its name. No I/O.
     *
     * @return name and token, in the order of {@link DistributedLockAll#names()}; also after the end
     */
    public Map<String, Long> tokens() {
        return tokens;
    }

    /**
     * The fencing token of one of the locks. No I/O.
     *
     * @param name one of {@link DistributedLockAll#names()}
     * @return as in {@link #tokens()}; also after the end
     * @throws InvalidArgumentException for any other name
     */
    public synchronized long token(String name) {
        Arguments.notNull(name, "name");
        Long token = tokens.get(name);
        if (token != null) {
            return token;
        }
        check("token");
        return NativeLockAll.token(granted().handle(), name);
    }

    /**
     * The lock that was lost, and with it the hold of all. No I/O.
     *
     * @return {@code null} when none was lost; also after the end
     */
    public synchronized @Nullable LostMember lostMember() {
        return ask(lostAtEnd, NativeLockAll::lostMember).orElse(null);
    }

    @Override
    void atEnd(long held) {
        lostAtEnd = NativeLockAll.lostMember(held);
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
     * @throws DeadlockException when the locks are not re-entrant
     * @throws LockLostException when one of them was lost
     * @throws NotHeldException when it is over
     */
    public synchronized void reenter() {
        check("acquire");
        Native.heldReenter(granted().handle());
    }

    /** The names, for logs and debuggers. */
    @Override
    public String toString() {
        return "LockAllHandle" + set.names();
    }
}
