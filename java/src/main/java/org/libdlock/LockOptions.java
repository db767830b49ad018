package org.libdlock;

import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * How a lock is made. Immutable: each method returns a changed copy.
 *
 * <pre>{@code client.lock("stock", LockOptions.defaults().lease(Duration.ofSeconds(5)))}</pre>
 */
public final class LockOptions {
    private static final LockOptions DEFAULTS = new LockOptions(null, null, null);

    private final @Nullable Duration lease;
    private final @Nullable Duration watchdogLease;
    private final @Nullable Boolean reentrant;

    private LockOptions(@Nullable Duration lease, @Nullable Duration watchdogLease, @Nullable Boolean reentrant) {
        this.lease = lease;
        this.watchdogLease = watchdogLease;
        this.reentrant = reentrant;
    }

    /**
     * As the client's options say.
     *
     * @return the same for everybody
     */
    public static LockOptions defaults() {
        return DEFAULTS;
    }

    /**
     * A lease that is not renewed, for every acquire that names none. Without it a lease is renewed for as long as the lock is held, see
     * {@link #watchdogLease}.
     *
     * @param lease 100 ms to 24 h
     * @return a copy with this lease
     */
    public LockOptions lease(Duration lease) {
        Arguments.notNull(lease, "lease");
        return new LockOptions(lease, watchdogLease, reentrant);
    }

    /**
     * The lease that the watchdog renews, every third of it, for as long as the lock is held. Without it that is the client's
     * {@link Options#lease}. Not together with {@link #lease}.
     *
     * @param watchdogLease 100 ms to 24 h
     * @return a copy with this lease of the watchdog
     */
    public LockOptions watchdogLease(Duration watchdogLease) {
        Arguments.notNull(watchdogLease, "watchdogLease");
        return new LockOptions(lease, watchdogLease, reentrant);
    }

    /**
     * Whether a holder may acquire again what it holds. Where it may not, it gets a {@link DeadlockException} at once.
     *
     * @param reentrant instead of the client's option
     * @return a copy that says so
     */
    public LockOptions reentrant(boolean reentrant) {
        return new LockOptions(lease, watchdogLease, reentrant);
    }

    @Nullable
    Duration lease() {
        return lease;
    }

    @Nullable
    Duration watchdogLease() {
        return watchdogLease;
    }

    int reentrantOrDefault() {
        return reentrant == null ? -1 : reentrant ? 1 : 0;
    }
}
