package org.libdlock;

import java.nio.charset.StandardCharsets;
import java.time.Instant;
import org.jspecify.annotations.Nullable;
import org.libdlock.internal.Listed;

/** A job as a list shows it: {@link DistributedQueue#peek} those that wait, {@link DeadJobs#list} those that are dead. */
public final class ListedJob {
    private final Listed job;

    ListedJob(Listed job) {
        this.job = job;
    }

    /**
     * The id of the job.
     *
     * @return 1 to 512 bytes of UTF-8
     */
    public String id() {
        return job.id;
    }

    /**
     * What was put.
     *
     * @return the bytes, each time the same array
     */
    public byte[] payload() {
        return job.payload;
    }

    /**
     * What was put, as text.
     *
     * @return the payload read as UTF-8
     */
    public String payloadAsString() {
        return new String(job.payload, StandardCharsets.UTF_8);
    }

    /**
     * How often it was delivered.
     *
     * @return 0 for a job that was not yet
     */
    public long attempts() {
        return job.attempts;
    }

    /**
     * When it is due, or was.
     *
     * @return by the server's clock, in whole milliseconds
     */
    public Instant due() {
        return Instant.ofEpochMilli(job.dueMillis);
    }

    /**
     * When it died.
     *
     * @return by the server's clock, in whole milliseconds; null for a job that waits
     */
    public @Nullable Instant deadSince() {
        return job.deadSinceMillis < 0 ? null : Instant.ofEpochMilli(job.deadSinceMillis);
    }

    /**
     * Why its last delivery failed.
     *
     * @return what {@link Delivery#nack(java.time.Duration, String)} was given; null for a job that waits
     */
    public @Nullable String reason() {
        return job.reason;
    }

    /** The id and how often it was delivered, for logs and debuggers; not the payload. */
    @Override
    public String toString() {
        return "ListedJob[" + id() + ", attempts " + attempts() + "]";
    }
}
