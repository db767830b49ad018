package org.libdlock;

/**
 * An item of a batch of {@link RateLimiter#tryAcquireMany}.
 *
 * @param key whose tokens are asked for, such as a user's id
 * @param cost how many
 */
public record KeyedCost(String key, long cost) {}
