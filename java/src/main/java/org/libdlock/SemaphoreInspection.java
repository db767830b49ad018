package org.libdlock;

import java.util.OptionalLong;
import org.libdlock.internal.SeenPermits;

// <api:record> written by `python3 api/write.py` from api/records.json
/**
 * What the server said about a semaphore at one instant; it may have changed since.
 *
 * @param permits how many permits there are in all; empty when the semaphore is not there, which the first acquire
 *     changes
 * @param available how many can be acquired now, those whose lease has run out among them; negative after the number
 *     was lowered below what is taken
 * @param queued how many processes stand in the queue
 */
public record SemaphoreInspection(OptionalLong permits, long available, long queued) {
    // </api:record>
    static SemaphoreInspection of(SeenPermits seen) {
        return new SemaphoreInspection(
                seen.permits() < 0 ? OptionalLong.empty() : OptionalLong.of(seen.permits()),
                seen.available(),
                seen.queued());
    }
}
