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
 * @param serverTimeMicros when, in Unix time
 */
public record Judged(
        boolean allowed,
        long granted,
        long remaining,
        long retryAfterMicros,
        long resetAfterMicros,
        long limit,
        long serverTimeMicros) {}
