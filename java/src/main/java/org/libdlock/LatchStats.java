// Written by `python3 api/write.py` from api/records.json.
package org.libdlock;

/**
 * What the latches of a client have counted.
 *
 * @param countedDown calls that counted down, by however many each
 * @param opened waits that found the latch open
 * @param waitTimeouts waits whose time was over first
 * @param cancelled waits whose caller gave up
 * @param waiting callers that wait now
 * @param waitTime from the call of a wait until it found the latch open: as many as {@code opened}
 */
public record LatchStats(
        long countedDown, long opened, long waitTimeouts, long cancelled, long waiting, Histogram waitTime) {}
