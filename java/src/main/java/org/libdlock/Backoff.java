package org.libdlock;

import java.time.Duration;
import org.libdlock.internal.Library;
import org.libdlock.internal.Native;

/**
 * How long a job waits that failed: {@code base} at most after the first time, twice as long after each further one, and {@code longest} at
 * most. By chance up to half of that less, so that jobs that failed together do not come back together.
 *
 * @param base zero does not wait
 * @param longest not less than {@code base}; in whole milliseconds, as that is
 */
public record Backoff(Duration base, Duration longest) {
    /** One second after the first failure, five minutes at most. */
    public static final Backoff DEFAULT = new Backoff(Duration.ofSeconds(1), Duration.ofMinutes(5));

    /**
     * A back-off of these bounds.
     *
     * @param base zero or more
     * @param longest {@code base} or more
     * @throws InvalidArgumentException for anything else
     */
    public Backoff {
        Arguments.notNull(base, "base");
        Arguments.notNull(longest, "longest");
        Library.load();
        Native.backoffMs(1, Arguments.millis(base), Arguments.millis(longest));
    }

    /**
     * How long a job waits whose delivery of this number has failed.
     *
     * @param attempt from 1 on
     * @return another one each time, in whole milliseconds
     * @throws InvalidArgumentException for a negative number
     */
    public Duration delay(int attempt) {
        return Duration.ofMillis(Native.backoffMs(attempt, Arguments.millis(base), Arguments.millis(longest)));
    }
}
