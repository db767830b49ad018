package org.libdlock;

/**
 * How many jobs a {@link DistributedQueue} has, at one instant.
 *
 * @param ready jobs that are due
 * @param delayed jobs that are not due yet
 * @param inFlight jobs that were delivered and not ended; some may be lost already, and the next take puts them back
 * @param dead jobs that were delivered as often as they may be
 * @param waiters processes that wait for jobs
 */
public record QueueCounts(long ready, long delayed, long inFlight, long dead, long waiters) {}
