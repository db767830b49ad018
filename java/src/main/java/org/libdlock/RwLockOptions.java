package org.libdlock;

import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * How a read-write lock is made. Immutable: each method returns a changed copy.
 *
 * <pre>{@code client.rwLock("prices", RwLockOptions.defaults().lease(Duration.ofSeconds(5)))}</pre>
 */
public final class RwLockOptions {
    private static final RwLockOptions DEFAULTS = new RwLockOptions(null, null, null, null);

    private final @Nullable Duration lease;
    private final @Nullable Duration watchdogLease;
    private final @Nullable Boolean reentrant;
    private final @Nullable Duration sharedAge;

    private RwLockOptions(
            @Nullable Duration lease,
            @Nullable Duration watchdogLease,
            @Nullable Boolean reentrant,
            @Nullable Duration sharedAge) {
        this.lease = lease;
        this.watchdogLease = watchdogLease;
        this.reentrant = reentrant;
        this.sharedAge = sharedAge;
    }

    /**
     * As the client's options say.
     *
     * @return the same for everybody
     */
    public static RwLockOptions defaults() {
        return DEFAULTS;
    }

    /**
     * A lease that is not renewed, for every acquire that names none. Without it a lease is renewed for as long as the side is held, see
     * {@link #watchdogLease}.
     *
     * @param lease 100 ms to 24 h
     * @return a copy with this lease
     */
    public RwLockOptions lease(Duration lease) {
        Arguments.notNull(lease, "lease");
        return new RwLockOptions(lease, watchdogLease, reentrant, sharedAge);
    }

    /**
     * The lease that the watchdog renews, every third of it, for as long as a side is held. Without it that is the client's
     * {@link Options#lease}. Not together with {@link #lease}. Readers share a hold only with readers of the same watchdog lease.
     *
     * @param watchdogLease 100 ms to 24 h
     * @return a copy with this lease of the watchdog
     */
    public RwLockOptions watchdogLease(Duration watchdogLease) {
        Arguments.notNull(watchdogLease, "watchdogLease");
        return new RwLockOptions(lease, watchdogLease, reentrant, sharedAge);
    }

    /**
     * Whether a holder may acquire again a side that it holds. Where it may not, it gets a {@link DeadlockException} at once.
     *
     * @param reentrant instead of the client's option
     * @return a copy that says so
     */
    public RwLockOptions reentrant(boolean reentrant) {
        return new RwLockOptions(lease, watchdogLease, reentrant, sharedAge);
    }

    /**
     * How long after the server's grant a reader of the same client joins it without a round trip. Readers that come later ask the server,
     * where a writer that waits is in front of them. Readers that wait together get one hold together in any case; those with a fixed
     * lease never do.
     *
     * @param sharedAge 0 to 10 s; without it 10 ms
     * @return a copy that says so
     */
    public RwLockOptions sharedAge(Duration sharedAge) {
        Arguments.notNull(sharedAge, "sharedAge");
        return new RwLockOptions(lease, watchdogLease, reentrant, sharedAge);
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

    @Nullable
    Duration sharedAge() {
        return sharedAge;
    }
}
