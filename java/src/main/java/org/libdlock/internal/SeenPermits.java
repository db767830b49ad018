package org.libdlock.internal;

/**
 * What the server said about a semaphore.
 *
 * @param permits -1 when it is not there
 * @param available negative after the number was lowered below what is taken
 * @param queued how many processes stand in the queue
 */
public record SeenPermits(long permits, long available, long queued) {}
