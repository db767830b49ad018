package org.libdlock;

import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * How a semaphore is made. Immutable: each method returns a changed copy.
 *
 * <pre>{@code client.semaphore("downloads", 10, SemaphoreOptions.defaults().lease(Duration.ofSeconds(5)))}</pre>
 */
public final class SemaphoreOptions {
    private static final SemaphoreOptions DEFAULTS = new SemaphoreOptions(null, null);

    private final @Nullable Duration lease;
    private final @Nullable Duration watchdogLease;

    private SemaphoreOptions(@Nullable Duration lease, @Nullable Duration watchdogLease) {
        this.lease = lease;
        this.watchdogLease = watchdogLease;
    }

    /**
     * As the client's options say.
     *
     * @return the same for everybody
     */
    public static SemaphoreOptions defaults() {
        return DEFAULTS;
    }

    /**
     * A lease that is not renewed, for every acquire that names none. Without it a lease is renewed for as long as permits are held, see
     * {@link #watchdogLease}.
     *
     * @param lease 100 ms to 24 h
     * @return a copy with this lease
     */
    public SemaphoreOptions lease(Duration lease) {
        Arguments.notNull(lease, "lease");
        return new SemaphoreOptions(lease, watchdogLease);
    }

    /**
     * The lease that the watchdog renews, every third of it, for as long as permits are held. Without it that is the client's
     * {@link Options#lease}. Not together with {@link #lease}.
     *
     * @param watchdogLease 100 ms to 24 h
     * @return a copy with this lease of the watchdog
     */
    public SemaphoreOptions watchdogLease(Duration watchdogLease) {
        Arguments.notNull(watchdogLease, "watchdogLease");
        return new SemaphoreOptions(lease, watchdogLease);
    }

    @Nullable
    Duration lease() {
        return lease;
    }

    @Nullable
    Duration watchdogLease() {
        return watchdogLease;
    }
}
