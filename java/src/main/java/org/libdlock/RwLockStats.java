// Written by `python3 api/write.py` from api/records.json.
package org.libdlock;

/**
 * What the read-write locks of a client have counted; readers that share a hold of the server are counted one by one,
 * unless the field says otherwise.
 *
 * @param acquired holds granted to a caller, of either side; a re-entry does not count
 * @param contended acquires that had to wait, and were granted
 * @param handedOverLocal of those that waited, the readers that share the hold of another one of this process
 * @param handedOverRemote of those that waited, the ones whose turn came in the queue between processes
 * @param waitTimeouts acquires that were not granted within their wait
 * @param cancelled acquires whose caller gave up while it waited
 * @param renewals leases prolonged by the watchdog, one for each hold of the server and time
 * @param renewalFailures renewals that got no answer or a passing error, and were tried again while the lease lasted
 * @param lost holds of the server that were lost, abandoned ones included
 * @param released holds that ended by a release
 * @param waiting callers that wait now
 * @param held holds of the server that are looked after now
 * @param waitTime from the call of an acquire to its grant, waited or not: as many as {@code acquired}
 * @param holdTime from a grant to the beginning of its release: as many as {@code released}
 */
public record RwLockStats(
        long acquired,
        long contended,
        long handedOverLocal,
        long handedOverRemote,
        long waitTimeouts,
        long cancelled,
        long renewals,
        long renewalFailures,
        long lost,
        long released,
        long waiting,
        long held,
        Histogram waitTime,
        Histogram holdTime) {}
