package org.libdlock;

// <api:record> written by `python3 api/write.py` from api/records.json
/**
 * What the server said about a counting semaphore at one instant; it may have changed since.
 *
 * @param exists whether the semaphore is there; the first release makes one that is not
 * @param available how many permits are available: negative after more were taken away than there were, 0 when the
 *     semaphore is not there
 * @param queued how many processes stand in the queue
 */
public record CountingSemaphoreInspection(boolean exists, long available, long queued) {
    // </api:record>
}
