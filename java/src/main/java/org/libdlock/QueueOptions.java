package org.libdlock;

import java.time.Duration;
import org.jspecify.annotations.Nullable;
import org.libdlock.internal.Native;

/**
 * How a delayed queue is used through one {@link DistributedQueue}; the server knows nothing of it. Immutable: each method returns a changed
 * copy.
 *
 * <pre>{@code client.queue("mails", QueueOptions.defaults().maxAttempts(5))}</pre>
 */
public final class QueueOptions {
    private static final QueueOptions DEFAULTS =
            new QueueOptions(null, null, Arguments.NOT_GIVEN, Arguments.NOT_GIVEN, Arguments.NOT_GIVEN);

    private final @Nullable Duration lease;
    private final @Nullable Duration watchdogLease;
    private final long maxAttempts;
    private final long maxPayload;
    private final long maxLength;

    private QueueOptions(
            @Nullable Duration lease,
            @Nullable Duration watchdogLease,
            long maxAttempts,
            long maxPayload,
            long maxLength) {
        this.lease = lease;
        this.watchdogLease = watchdogLease;
        this.maxAttempts = maxAttempts;
        this.maxPayload = maxPayload;
        this.maxLength = maxLength;
    }

    /**
     * The client's lease, which is renewed, 16 attempts, 1 MiB a job, any number of jobs.
     *
     * @return the same for everybody
     */
    public static QueueOptions defaults() {
        return DEFAULTS;
    }

    /**
     * A lease of deliveries that nothing renews: a job whose worker takes longer comes again. Excludes {@link #watchdogLease}.
     *
     * @param lease 100 ms to 24 h
     * @return a copy with this lease
     */
    public QueueOptions lease(Duration lease) {
        Arguments.notNull(lease, "lease");
        return new QueueOptions(lease, watchdogLease, maxAttempts, maxPayload, maxLength);
    }

    /**
     * The lease of deliveries that the client renews, every third of it: so long after its worker died a job comes again. Without it that
     * is the client's {@link Options#lease}.
     *
     * @param lease 100 ms to 24 h
     * @return a copy with this lease
     */
    public QueueOptions watchdogLease(Duration lease) {
        Arguments.notNull(lease, "lease");
        return new QueueOptions(this.lease, lease, maxAttempts, maxPayload, maxLength);
    }

    /**
     * How often a job that is put through this object is delivered; then it is dead.
     *
     * @param attempts 1 to 1,000,000; 16 if not given
     * @return a copy with so many attempts
     */
    public QueueOptions maxAttempts(int attempts) {
        return new QueueOptions(lease, watchdogLease, attempts, maxPayload, maxLength);
    }

    /**
     * The largest payload that is put through this object.
     *
     * @param bytes 0 to 2,097,152; 1,048,576 if not given
     * @return a copy with this limit
     */
    public QueueOptions maxPayload(int bytes) {
        return new QueueOptions(lease, watchdogLease, maxAttempts, bytes, maxLength);
    }

    /**
     * How many jobs the queue may hold, dead ones among them: a put that would make it more is refused with {@link QueueFullException}.
     *
     * @param jobs 0 or more; 0 is any number, as when it is not given
     * @return a copy with this limit
     */
    public QueueOptions maxLength(long jobs) {
        return new QueueOptions(lease, watchdogLease, maxAttempts, maxPayload, jobs);
    }

    /** The native handle of a queue with these options. */
    long open(long client, byte[] name) {
        long leaseMillis = Arguments.leaseMillis(lease);
        long watchdogMillis = Arguments.leaseMillis(watchdogLease);
        return Native.queueOpen(client, name, leaseMillis, watchdogMillis, maxAttempts, maxPayload, maxLength);
    }
}
