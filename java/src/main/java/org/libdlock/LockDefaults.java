// Written by `python3 api/write.py` from api/options.json.
package org.libdlock;

import java.time.Duration;

/**
 * What holds for every lock of the client; see {@link Options#lock}. Immutable: each method returns a changed copy.
 */
public final class LockDefaults {
    /** Those that it is part of. */
    final Options options;

    LockDefaults(Options options) {
        this.options = options;
    }

    private LockDefaults set(String name, String value) {
        return new LockDefaults(options.set(name, value));
    }

    private LockDefaults set(String name, Duration value) {
        return new LockDefaults(options.set(name, value));
    }

    /**
     * How long a token key outlives its last use; {@code tokenTtlNone()} for fleets that run Redisson's fenced lock.
     *
     * @param ttl 1 s to 366 days; 1 h by default
     * @return a copy with it
     */
    public LockDefaults tokenTtl(Duration ttl) {
        Arguments.notNull(ttl, "ttl");
        return set("lock.token_ttl", ttl);
    }

    /**
     * Sets token_ttl to none: see {@link #tokenTtl}.
     *
     * @return a copy with it
     */
    public LockDefaults tokenTtlNone() {
        return set("lock.token_ttl", "none");
    }

    /**
     * Whether a holder may acquire again.
     *
     * @param reentrant true by default
     * @return a copy with it
     */
    public LockDefaults reentrant(boolean reentrant) {
        return set("lock.reentrant", Boolean.toString(reentrant));
    }

    /**
     * Whether each release goes to the queue head, so that waiters of the same process have no advantage.
     *
     * @param strict false by default
     * @return a copy with it
     */
    public LockDefaults strictFifo(boolean strict) {
        return set("lock.strict_fifo", Boolean.toString(strict));
    }

    /**
     * How many holders in a row, the first included, a process may have by handing a lock, or the permits of one
     * grant, over within itself before other processes get their turn; 1 turns that off.
     *
     * @param holders 1 to 1024; 32 by default
     * @return a copy with it
     */
    public LockDefaults cohortMax(int holders) {
        return set("lock.cohort_max", Integer.toString(holders));
    }

    /**
     * How long after the server's grant a process may hand a lock or permits over within itself before other processes
     * get their turn.
     *
     * @param age 1 ms to 10 s; 1 ms by default
     * @return a copy with it
     */
    public LockDefaults cohortAge(Duration age) {
        Arguments.notNull(age, "age");
        return set("lock.cohort_age", age);
    }
}
