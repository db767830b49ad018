package org.libdlock;

import java.time.Duration;
import java.util.OptionalLong;
import org.jspecify.annotations.Nullable;
import org.libdlock.internal.SeenSides;

// <api:record> written by `python3 api/write.py` from api/records.json
/**
 * What the server said about a read-write lock at one instant; it may have changed since.
 *
 * @param writer the owner of the write side, {@code <client uuid>:<n>:write} (Redisson's or ours); {@code null} when
 *     nobody writes
 * @param ours whether that is this client
 * @param readers how many holds of the read side there are; readers of one process that share one count as one
 * @param ttl what is left of the longest lease; {@code null} when nobody holds it, and for a foreign key that never
 *     expires
 * @param token the last fencing token given for this name, as long as the server remembers it
 * @param queued how many processes stand in the queue
 */
public record RwLockInspection(
        @Nullable String writer,
        boolean ours,
        long readers,
        @Nullable Duration ttl,
        OptionalLong token,
        long queued) {
    // </api:record>
    static RwLockInspection of(SeenSides seen) {
        return new RwLockInspection(
                seen.writer(),
                seen.ours(),
                seen.readers(),
                seen.ttlMillis() < 0 ? null : Duration.ofMillis(seen.ttlMillis()),
                seen.token() < 0 ? OptionalLong.empty() : OptionalLong.of(seen.token()),
                seen.queued());
    }
}
