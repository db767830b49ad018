package org.libdlock.internal;

import org.jspecify.annotations.Nullable;

/**
 * What the server said about a read-write lock. Numbers that are not there are -1.
 *
 * @param writer the owner of the write side, or null when nobody writes
 * @param ours whether that is the client that asked
 * @param readers how many holds of the read side there are
 * @param ttlMillis what is left of the longest lease
 * @param token the last token
 * @param queued how many processes stand in the queue
 */
public record SeenSides(@Nullable String writer, boolean ours, long readers, long ttlMillis, long token, long queued) {}
