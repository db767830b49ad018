package org.libdlock;

import java.util.Arrays;

/**
 * What a client has counted since it was opened, for its locks; rate limiters are not counted.
 *
 * @param acquired holds granted to a caller; re-entries are none
 * @param contended of those, the ones that had to wait
 * @param handedOverLocal of those that waited, the ones that a holder of this process handed over
 * @param handedOverRemote of those that waited, the ones whose turn came in the queue between processes
 * @param waitTimeouts acquires that were not granted within their wait
 * @param cancelled acquires whose caller gave up while they waited
 * @param retries requests sent again because no answer came
 * @param renewals leases prolonged by the watchdog, one for each lock and time
 * @param renewalFailures renewals that failed and were tried again while the lease lasted
 * @param lost holds that were lost
 * @param released holds that ended by a release
 * @param waiting callers that wait now
 * @param held holds that are looked after now
 * @param waitTime from the call of an acquire to its grant: as many as {@code acquired}
 * @param holdTime from a grant to the beginning of its release: as many as {@code released}
 */
public record Stats(
        long acquired,
        long contended,
        long handedOverLocal,
        long handedOverRemote,
        long waitTimeouts,
        long cancelled,
        long retries,
        long renewals,
        long renewalFailures,
        long lost,
        long released,
        long waiting,
        long held,
        Histogram waitTime,
        Histogram holdTime) {
    private static final int COUNTERS = 13;

    static Stats of(long[] numbers) {
        int half = COUNTERS + (numbers.length - COUNTERS) / 2;
        return new Stats(
                numbers[0],
                numbers[1],
                numbers[2],
                numbers[3],
                numbers[4],
                numbers[5],
                numbers[6],
                numbers[7],
                numbers[8],
                numbers[9],
                numbers[10],
                numbers[11],
                numbers[12],
                Histogram.of(Arrays.copyOfRange(numbers, COUNTERS, half)),
                Histogram.of(Arrays.copyOfRange(numbers, half, numbers.length)));
    }
}
