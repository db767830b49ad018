package org.libdlock;

import java.time.Duration;

/**
 * How a {@link QueueConsumer} works. Immutable: each method returns a changed copy.
 *
 * <pre>{@code mails.consume(pool, this::send, ConsumerOptions.defaults().concurrency(8))}</pre>
 */
public final class ConsumerOptions {
    private static final int MOST = 10_000;
    private static final ConsumerOptions DEFAULTS =
            new ConsumerOptions(1, Backoff.DEFAULT, Duration.ofSeconds(10), Reason.TYPE);

    private final int concurrency;
    private final Backoff backoff;
    private final Duration grace;
    private final Reason reason;

    /** The part of an exception that is kept as the reason which the dead list shows. */
    public enum Reason {
        /** The name of the exception's class. */
        TYPE,
        /** Its message, too, which may have what not everybody should read. */
        TEXT
    }

    private ConsumerOptions(int concurrency, Backoff backoff, Duration grace, Reason reason) {
        this.concurrency = concurrency;
        this.backoff = backoff;
        this.grace = grace;
        this.reason = reason;
    }

    /**
     * One job at a time, {@link Backoff#DEFAULT}, a grace of 10 s, {@link Reason#TYPE}.
     *
     * @return the same for everybody
     */
    public static ConsumerOptions defaults() {
        return DEFAULTS;
    }

    /**
     * How many jobs are in hand at once. Not more than the executor has threads: a job that waits for one is kept from other processes.
     *
     * @param jobs 1 to 10,000
     * @return a copy with this number
     * @throws InvalidArgumentException for any other number
     */
    public ConsumerOptions concurrency(int jobs) {
        if (jobs < 1 || jobs > MOST) {
            throw Arguments.refused("concurrency " + jobs + " is out of range", "1 to " + MOST, "consume");
        }
        return new ConsumerOptions(jobs, backoff, grace, reason);
    }

    /**
     * How long a job waits whose handler threw.
     *
     * @param backoff {@link Backoff#DEFAULT} if not given
     * @return a copy with this back-off
     */
    public ConsumerOptions backoff(Backoff backoff) {
        Arguments.notNull(backoff, "backoff");
        return new ConsumerOptions(concurrency, backoff, grace, reason);
    }

    /**
     * How long {@link QueueConsumer#stop()} and {@link QueueConsumer#close()} wait for the jobs in hand.
     *
     * @param grace zero does not wait
     * @return a copy with this grace
     * @throws InvalidArgumentException for a negative time
     */
    public ConsumerOptions grace(Duration grace) {
        return new ConsumerOptions(concurrency, backoff, checkedGrace(grace), reason);
    }

    /**
     * Says which part of an exception is kept as the reason of its job.
     *
     * @param reason {@link Reason#TYPE} if not given
     * @return a copy with this
     */
    public ConsumerOptions reason(Reason reason) {
        Arguments.notNull(reason, "reason");
        return new ConsumerOptions(concurrency, backoff, grace, reason);
    }

    static Duration checkedGrace(Duration grace) {
        Arguments.notNull(grace, "grace");
        if (grace.isNegative()) {
            throw Arguments.refused("grace " + grace + " is negative", "0 or more", "consume");
        }
        return grace;
    }

    int concurrency() {
        return concurrency;
    }

    Backoff backoff() {
        return backoff;
    }

    Duration grace() {
        return grace;
    }

    String reasonOf(Throwable error) {
        String type = error.getClass().getName();
        String text = reason == Reason.TEXT ? error.getMessage() : null;
        return text == null || text.isEmpty() ? type : type + ": " + text;
    }
}
