package org.libdlock;

import java.time.Duration;
import java.time.temporal.ChronoUnit;
import java.util.OptionalLong;
import org.jspecify.annotations.Nullable;
import org.libdlock.internal.Judged;

/**
 * A rate limiter's answer.
 *
 * @param allowed whether the tokens were granted; of a {@link RateLimiter#peek}, whether one could be had
 * @param granted how many were
 * @param remaining how many could be had at once now
 * @param retryAfter until the same cost can be granted; {@code null} is never
 * @param resetAfter until the bucket is full
 * @param limit the burst
 * @param serverTimeUs when, on the server's clock, in microseconds since 1970; empty when there was no server to ask
 */
public record Decision(
        boolean allowed,
        long granted,
        long remaining,
        @Nullable Duration retryAfter,
        Duration resetAfter,
        long limit,
        OptionalLong serverTimeUs) {
    static Decision of(Object reply) {
        Judged judged = Replies.of(reply, Judged.class);
        return new Decision(
                judged.allowed(),
                judged.granted(),
                judged.remaining(),
                judged.retryAfterMicros() < 0 ? null : Duration.of(judged.retryAfterMicros(), ChronoUnit.MICROS),
                Duration.of(judged.resetAfterMicros(), ChronoUnit.MICROS),
                judged.limit(),
                judged.serverTimeMicros() < 0 ? OptionalLong.empty() : OptionalLong.of(judged.serverTimeMicros()));
    }
}
