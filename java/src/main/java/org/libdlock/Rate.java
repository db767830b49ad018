package org.libdlock;

import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * So many tokens a period, and how many of them at once.
 *
 * <pre>{@code Rate.of(100, Duration.ofSeconds(1)).burst(20)}</pre>
 *
 * @param tokens of one period, up to 10<sup>12</sup>; 0 refuses everything
 * @param per the period, 1 us to 100 years
 * @param burst the most tokens at once, the whole bucket; {@code null} is the tokens of one period
 */
public record Rate(long tokens, Duration per, @Nullable Long burst) {
    /**
     * A rate of these; what they may be is the core's to say.
     *
     * @param tokens so many
     * @param per in so long
     * @param burst how many at once; {@code null} for as many as {@code tokens}
     */
    public Rate {
        Arguments.notNull(per, "per");
    }

    /**
     * A rate whose burst is as many tokens as a period brings.
     *
     * @param tokens of one period, up to 10<sup>12</sup>; 0 refuses everything
     * @param per the period, 1 us to 100 years
     * @return the rate; it is checked where a limiter is made of it
     */
    public static Rate of(long tokens, Duration per) {
        return new Rate(tokens, per, null);
    }

    /**
     * The same with another burst.
     *
     * @param burst the most tokens at once, 1 to 10<sup>12</sup>
     * @return a copy with it
     */
    public Rate burst(long burst) {
        return new Rate(tokens, per, burst);
    }
}
