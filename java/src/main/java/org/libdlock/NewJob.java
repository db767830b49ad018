package org.libdlock;

import java.time.Duration;
import java.time.Instant;
import org.jspecify.annotations.Nullable;

/**
 * A job that is to be put into a {@link DistributedQueue}. Immutable: each method returns a changed copy.
 *
 * <pre>{@code mails.put(NewJob.of("to: ada").id("ada-1").delay(Duration.ofMinutes(5)))}</pre>
 */
public final class NewJob {
    private static final String PUT = "put";

    private final byte[] payload;
    private final byte @Nullable [] id;
    private final long delayMillis;
    private final long atMillis;
    private final int priority;

    private NewJob(byte[] payload, byte @Nullable [] id, long delayMillis, long atMillis, int priority) {
        this.payload = payload;
        this.id = id;
        this.delayMillis = delayMillis;
        this.atMillis = atMillis;
        this.priority = priority;
    }

    /**
     * A job that is due at once, with a new id and priority 0.
     *
     * @param payload any bytes, up to {@link QueueOptions#maxPayload}; not copied
     * @return the job
     */
    public static NewJob of(byte[] payload) {
        Arguments.notNull(payload, "payload");
        return new NewJob(payload, null, Arguments.NOT_GIVEN, Arguments.NOT_GIVEN, 0);
    }

    /**
     * As {@link #of(byte[])}, of a text.
     *
     * @param payload its UTF-8 is what is put
     * @return the job
     * @throws InvalidArgumentException for a text with a lone surrogate
     */
    public static NewJob of(String payload) {
        Arguments.notNull(payload, "payload");
        return of(Arguments.textBytes(payload, "payload", PUT));
    }

    /**
     * An id, so that the job is put once: while a job with this id waits, is being done or is dead, another put does nothing. So a put with
     * an id may be repeated.
     *
     * @param id 1 to 512 bytes of UTF-8
     * @return a copy with this id
     * @throws InvalidArgumentException for a text with a lone surrogate
     */
    public NewJob id(String id) {
        return new NewJob(payload, idBytes(id, PUT), delayMillis, atMillis, priority);
    }

    /**
     * After how long it is due, by the server's clock. Excludes {@link #at}.
     *
     * @param delay 0 to 100 years, in whole milliseconds, rounded up
     * @return a copy with this delay
     */
    public NewJob delay(Duration delay) {
        Arguments.notNull(delay, "delay");
        return new NewJob(payload, id, Arguments.millis(delay), atMillis, priority);
    }

    /**
     * When it is due, by the server's clock; in the past is at once. Excludes {@link #delay}.
     *
     * @param at in whole milliseconds, rounded up
     * @return a copy with this time
     */
    public NewJob at(Instant at) {
        Arguments.notNull(at, "at");
        return new NewJob(payload, id, delayMillis, unixMillis(at), priority);
    }

    /**
     * Jobs that are due come by priority, the higher first.
     *
     * @param priority -32768 to 32767
     * @return a copy with this priority
     */
    public NewJob priority(int priority) {
        return new NewJob(payload, id, delayMillis, atMillis, priority);
    }

    byte[] payload() {
        return payload;
    }

    byte @Nullable [] id() {
        return id;
    }

    long delayMillis() {
        return delayMillis;
    }

    long atMillis() {
        return atMillis;
    }

    int priority() {
        return priority;
    }

    /** The id of a job as UTF-8. Its other rules are the core's. */
    static byte[] idBytes(String id, String op) {
        Arguments.notNull(id, "id");
        return Arguments.textBytes(id, "id of the job", op);
    }

    /** What is beyond the numbers of milliseconds stays at their end. */
    private static long unixMillis(Instant at) {
        try {
            return Math.max(at.plusNanos(999_999).toEpochMilli(), -Long.MAX_VALUE);
        } catch (ArithmeticException | java.time.DateTimeException tooFar) {
            return at.isBefore(Instant.EPOCH) ? -Long.MAX_VALUE : Long.MAX_VALUE;
        }
    }

    /** How many bytes it has, for logs and debuggers; not the payload. */
    @Override
    public String toString() {
        return "NewJob[" + payload.length + " bytes]";
    }
}
