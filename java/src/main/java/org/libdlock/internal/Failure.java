package org.libdlock.internal;

import java.io.Serializable;
import java.time.Duration;
import java.time.temporal.ChronoUnit;
import org.jspecify.annotations.Nullable;

/**
 * An error of the core, before it becomes an exception, and what the exception tells then.
 *
 * @param code its kind's number
 * @param op the operation that failed
 * @param object the name of the object it was about
 * @param message what happened, for people
 * @param holder the owner in the way
 * @param remainingMillis how much of its lease was left, or -1
 * @param retryAfterMicros after how long asking again can succeed, or -1
 * @param allowed what is allowed in place of what was refused
 * @param retryable whether the same call can succeed later
 */
public record Failure(
        int code,
        String op,
        @Nullable String object,
        String message,
        @Nullable String holder,
        long remainingMillis,
        long retryAfterMicros,
        @Nullable String allowed,
        boolean retryable)
        implements Serializable {
    /**
     * One with nothing but its text, which no retry changes.
     *
     * @param code its kind's number
     * @param op the operation that failed
     * @param object the name of the object it was about
     * @param message what happened, for people
     */
    public Failure(int code, String op, @Nullable String object, String message) {
        this(code, op, object, message, null, -1, -1, null, false);
    }

    /**
     * How much of the holder's lease was left.
     *
     * @return {@code null} when it is not known
     */
    public @Nullable Duration remaining() {
        return remainingMillis < 0 ? null : Duration.ofMillis(remainingMillis);
    }

    /**
     * After how long asking again can succeed.
     *
     * @return {@code null} when it is not known
     */
    public @Nullable Duration retryAfter() {
        return retryAfterMicros < 0 ? null : Duration.of(retryAfterMicros, ChronoUnit.MICROS);
    }
}
