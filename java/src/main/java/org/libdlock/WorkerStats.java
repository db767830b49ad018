// Written by `python3 api/write.py` from api/records.json.
package org.libdlock;

/**
 * What the worker numbers of a client have counted.
 *
 * @param acquired numbers leased
 * @param refused leases that were refused because all numbers were taken
 * @param renewals leases prolonged by the watchdog, one for each number and time
 * @param renewalFailures renewals that got no answer or a passing error, and were tried again while the lease lasted
 * @param lost numbers that were lost
 * @param released numbers that were given back
 * @param held numbers that are looked after now
 * @param waitTime from the call to the number: as many as {@code acquired}
 * @param holdTime from the lease of a number to the beginning of its release: as many as {@code released}
 */
public record WorkerStats(
        long acquired,
        long refused,
        long renewals,
        long renewalFailures,
        long lost,
        long released,
        long held,
        Histogram waitTime,
        Histogram holdTime) {}
