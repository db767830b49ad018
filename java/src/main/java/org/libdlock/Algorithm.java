package org.libdlock;

import java.nio.charset.StandardCharsets;
import java.util.Locale;

/** How a {@link Rate} counts, by the server's clock. */
public enum Algorithm {
    /**
     * A bucket of {@code burst} tokens that fills evenly (the generic cell rate algorithm): never more than the burst and what the rate
     * brings in any interval. The default.
     */
    GCRA,
    /**
     * At most the tokens of a period in each window of that length, which begins with the first request after the last window is over.
     * Around the border of two windows up to twice as many can pass.
     */
    FIXED_WINDOW,
    /**
     * As {@link #FIXED_WINDOW}, with windows at the multiples of the period since 2025-01-01 00:00 UTC: full minutes, hours, days.
     */
    ALIGNED_WINDOW,
    /**
     * At most the tokens of a period in any interval of that length, exactly. The server keeps an entry for each request that was granted
     * in the last period, so the tokens are 100,000 at most.
     */
    SLIDING_LOG,
    /**
     * As {@link #SLIDING_LOG} in about, in four numbers on the server: less than twice the tokens of a period in any interval of that
     * length.
     */
    SLIDING_COUNTER,
    /**
     * That of Redisson's {@code RRateLimiter} on its keys, for those who share a limiter with it: all clients together ({@code OVERALL}).
     * It has no {@code reserve}, {@code penalty}, {@code reward} and {@code block}.
     */
    REDISSON,
    /** As {@link #REDISSON}, and each client has the rate for itself ({@code PER_CLIENT}). */
    REDISSON_PER_CLIENT;

    /** The core's word for it. */
    byte[] word() {
        return name().toLowerCase(Locale.ROOT).getBytes(StandardCharsets.US_ASCII);
    }
}
