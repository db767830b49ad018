package org.libdlock;

import java.time.Duration;
import java.time.temporal.ChronoUnit;
import java.util.OptionalLong;
import org.jspecify.annotations.Nullable;
import org.libdlock.internal.Judged;

// <api:record> written by `python3 api/write.py` from api/records.json
/**
 * A rate limiter's answer.
 *
 * @param allowed whether the tokens were granted; of a {@code peek}, whether one could be had
 * @param granted how many were: the cost, or 0
 * @param remaining how many could be had at once now; zero while a block refuses all
 * @param retryAfter how long until the same cost can be granted, at the soonest: zero when it was granted, {@code
 *     null} for never
 * @param resetAfter how long until the bucket is full again, and a block over
 * @param limit the most that can be had at once: the burst, or this client's share of it when a policy granted that
 * @param refusedBy which of the limiter's rates is the last to have the tokens of a request that was refused, counted
 *     from 0; empty when it was granted, and when a block or a policy refused it
 * @param usableAfter how long until the tokens that were granted may be used: zero except after {@code reserve}
 * @param serverTimeUs when it was decided, or from when on the tokens that were waited for may be used, on the
 *     server's clock, in microseconds since 1970; empty when a policy decided without the server
 */
public record Decision(
        boolean allowed,
        long granted,
        long remaining,
        @Nullable Duration retryAfter,
        Duration resetAfter,
        long limit,
        OptionalLong refusedBy,
        Duration usableAfter,
        OptionalLong serverTimeUs)
        implements Answer {
    // </api:record>
    static Decision of(Object reply) {
        Judged judged = Replies.of(reply, Judged.class);
        return new Decision(
                judged.allowed(),
                judged.granted(),
                judged.remaining(),
                judged.retryAfterMicros() < 0 ? null : Duration.of(judged.retryAfterMicros(), ChronoUnit.MICROS),
                Duration.of(judged.resetAfterMicros(), ChronoUnit.MICROS),
                judged.limit(),
                judged.refusedBy() < 0 ? OptionalLong.empty() : OptionalLong.of(judged.refusedBy()),
                Duration.of(judged.usableAfterMicros(), ChronoUnit.MICROS),
                judged.serverTimeMicros() < 0 ? OptionalLong.empty() : OptionalLong.of(judged.serverTimeMicros()));
    }
}
