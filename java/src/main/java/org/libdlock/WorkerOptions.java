package org.libdlock;

import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * How a worker number is leased. Immutable: each method returns a changed copy.
 *
 * <pre>{@code client.worker("orders", WorkerOptions.defaults().bits(5))}</pre>
 */
public final class WorkerOptions {
    private static final WorkerOptions DEFAULTS = new WorkerOptions(null, null);

    private final @Nullable Integer bits;
    private final @Nullable Duration lease;

    private WorkerOptions(@Nullable Integer bits, @Nullable Duration lease) {
        this.bits = bits;
        this.lease = lease;
    }

    /**
     * A pool of 10 bits, which is 1,024 numbers, and the client's lease.
     *
     * @return the same for everybody
     */
    public static WorkerOptions defaults() {
        return DEFAULTS;
    }

    /**
     * How many bits the numbers of the pool have, the same for all who use it. At most as many as the datacenter and the worker of the
     * layout have together.
     *
     * @param bits 1 to 22
     * @return a copy with so many bits
     */
    public WorkerOptions bits(int bits) {
        return new WorkerOptions(bits, lease);
    }

    /**
     * For how long the number stays taken when this process dies; the lease is renewed, every third of it. Without it that is the client's
     * {@link Options#lease}.
     *
     * @param lease 100 ms to 24 h
     * @return a copy with this lease
     */
    public WorkerOptions lease(Duration lease) {
        Arguments.notNull(lease, "lease");
        return new WorkerOptions(bits, lease);
    }

    long bitsOrDefault() {
        return bits == null ? Arguments.NOT_GIVEN : bits;
    }

    @Nullable
    Duration lease() {
        return lease;
    }
}
