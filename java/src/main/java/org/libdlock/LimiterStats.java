// Written by `python3 api/write.py` from api/records.json.
package org.libdlock;

/**
 * What the rate limiters of a client have counted; a {@code peek} is not counted.
 *
 * @param granted calls that got their tokens
 * @param refused calls that were refused
 * @param tokens tokens that were granted
 * @param byPolicy of all these calls, the ones that a policy decided while the server was away
 * @param waiting callers that wait now
 * @param waitTime from a call to its grant, waited or not: as many as {@code granted}
 */
public record LimiterStats(long granted, long refused, long tokens, long byPolicy, long waiting, Histogram waitTime) {}
