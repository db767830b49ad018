package org.libdlock.internal;

import org.jspecify.annotations.Nullable;

/**
 * What the server shows of a lock. Numbers that are not there are -1.
 *
 * @param holder the owner, or null when it is free
 * @param ours whether the owner is the client that asked
 * @param ttlMillis what is left of the lease
 * @param token the last token
 * @param queued how many processes stand in the queue
 */
public record Seen(@Nullable String holder, boolean ours, long ttlMillis, long token, long queued) {}
