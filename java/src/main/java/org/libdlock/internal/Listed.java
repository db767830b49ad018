package org.libdlock.internal;

import org.jspecify.annotations.Nullable;

/** A job as a list shows it. */
public final class Listed {
    /** The id of the job. */
    public final String id;

    /** What was put. */
    public final byte[] payload;

    /** How often it was delivered. */
    public final long attempts;

    /** When it is due, or was, in milliseconds since 1970. */
    public final long dueMillis;

    /** Since when it is dead, in milliseconds since 1970; -1 for a job that waits. */
    public final long deadSinceMillis;

    /** Why its last delivery failed; null for a job that waits. */
    public final @Nullable String reason;

    Listed(String id, byte[] payload, long attempts, long dueMillis, long deadSinceMillis, @Nullable String reason) {
        this.id = id;
        this.payload = payload;
        this.attempts = attempts;
        this.dueMillis = dueMillis;
        this.deadSinceMillis = deadSinceMillis;
        this.reason = reason;
    }
}
