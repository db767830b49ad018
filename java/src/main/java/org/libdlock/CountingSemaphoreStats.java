// Written by `python3 api/write.py` from api/records.json.
package org.libdlock;

/**
 * What the counting semaphores of a client have counted; {@code released} may exceed {@code acquired}: anybody may
 * release.
 *
 * @param acquired acquires that were granted, of however many permits each
 * @param contended acquires that had to wait, and were granted
 * @param waitTimeouts acquires that were not granted within their wait
 * @param cancelled acquires whose caller gave up while it waited
 * @param released releases that the server has confirmed, of however many permits each
 * @param waiting callers that wait now
 * @param waitTime from the call of an acquire to its grant, waited or not: as many as {@code acquired}
 */
public record CountingSemaphoreStats(
        long acquired,
        long contended,
        long waitTimeouts,
        long cancelled,
        long released,
        long waiting,
        Histogram waitTime) {}
