package org.libdlock.internal;

/**
 * A limiter's answer. Numbers that are not there are -1.
 *
 * @param allowed whether the tokens were granted
 * @param granted how many were
 * @param remaining how many could be had now
 * @param retryAfterMicros until the same cost can be granted
 * @param resetAfterMicros until the bucket is full
 * @param limit the burst
 * @param refusedBy which rate refused
 * @param usableAfterMicros until what was granted may be used
 * @param serverTimeMicros when, in Unix time
 */
public record Judged(
        boolean allowed,
        long granted,
        long remaining,
        long retryAfterMicros,
        long resetAfterMicros,
        long limit,
        long refusedBy,
        long usableAfterMicros,
        long serverTimeMicros) {
    /** How many numbers there are besides the answer. */
    public static final int NUMBERS = 8;

    /**
     * As {@link Native#limiterAcquireBlocking} gives it.
     *
     * @param allowed its answer
     * @param numbers what it has written
     * @return both together
     */
    public static Judged of(boolean allowed, long[] numbers) {
        return new Judged(
                allowed,
                numbers[0],
                numbers[1],
                numbers[2],
                numbers[3],
                numbers[4],
                numbers[5],
                numbers[6],
                numbers[7]);
    }
}
