// Written by `python3 api/write.py` from api/records.json.
package org.libdlock;

/**
 * What the queues of a client have counted.
 *
 * @param put jobs put
 * @param duplicates jobs that were not put because a job of their id was there
 * @param full requests to put jobs that were refused because the queue was full
 * @param taken jobs delivered to a caller
 * @param contended of these, the ones that the caller had to wait for
 * @param waitTimeouts takes that brought no job within their wait
 * @param cancelled takes whose caller gave up while it waited
 * @param acked deliveries that were acknowledged
 * @param nacked deliveries that were put back, the ones that were let go included
 * @param dead of these, the ones whose job was delivered as often as it may be, and is dead
 * @param removed jobs that were cancelled, purged, or removed from the dead ones
 * @param renewals leases prolonged by the watchdog, one for each delivery and time
 * @param renewalFailures renewals that got no answer or a passing error, and were tried again while the lease lasted
 * @param lost deliveries that were lost, and come again
 * @param waiting callers that wait now
 * @param held deliveries that are looked after now
 * @param waitTime from the call of a take to its delivery, waited or not: as many as {@code taken}
 * @param holdTime from a delivery to the beginning of its end by its worker
 */
public record QueueStats(
        long put,
        long duplicates,
        long full,
        long taken,
        long contended,
        long waitTimeouts,
        long cancelled,
        long acked,
        long nacked,
        long dead,
        long removed,
        long renewals,
        long renewalFailures,
        long lost,
        long waiting,
        long held,
        Histogram waitTime,
        Histogram holdTime) {}
