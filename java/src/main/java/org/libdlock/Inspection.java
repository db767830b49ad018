package org.libdlock;

import java.time.Duration;
import java.util.OptionalLong;
import org.jspecify.annotations.Nullable;
import org.libdlock.internal.Seen;

// <api:record> written by `python3 api/write.py` from api/records.json
/**
 * What the server said about a lock at one instant; it may have changed since.
 *
 * @param holder the owner, {@code <client uuid>:<n>} (Redisson's or ours); {@code null} when the lock is free
 * @param ours whether the owner is this client
 * @param ttl what is left of the lease; {@code null} when the lock is free, and for a foreign key that never expires
 * @param token the last fencing token reserved for this name, as long as the server remembers it; the holder's may be
 *     lower
 * @param queued how many processes stand in the queue
 */
public record Inspection(
        @Nullable String holder, boolean ours, @Nullable Duration ttl, OptionalLong token, long queued) {
    // </api:record>
    static Inspection of(Seen seen) {
        return new Inspection(
                seen.holder(),
                seen.ours(),
                seen.ttlMillis() < 0 ? null : Duration.ofMillis(seen.ttlMillis()),
                seen.token() < 0 ? OptionalLong.empty() : OptionalLong.of(seen.token()),
                seen.queued());
    }
}
