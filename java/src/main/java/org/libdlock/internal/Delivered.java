package org.libdlock.internal;

/** A job that was delivered. */
public final class Delivered {
    /** Its hold, to be given back with {@link Native#free}. */
    public final Hold hold;

    /** What was put. */
    public final byte[] payload;

    /** The id of the job. */
    public final String id;

    /** Which delivery of the job it is, from 1 on. */
    public final int attempt;

    /** When the job was due, in milliseconds since 1970. */
    public final long dueMillis;

    /** The priority with which it was put. */
    public final int priority;

    Delivered(Hold hold, byte[] payload, String id, int attempt, long dueMillis, int priority) {
        this.hold = hold;
        this.payload = payload;
        this.id = id;
        this.attempt = attempt;
        this.dueMillis = dueMillis;
        this.priority = priority;
    }
}
