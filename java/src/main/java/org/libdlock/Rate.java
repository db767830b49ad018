package org.libdlock;

import java.time.Duration;
import java.util.stream.LongStream;
import org.jspecify.annotations.Nullable;

/**
 * So many tokens a period, how many of them at once, and how they are counted.
 *
 * <pre>{@code Rate.of(100, Duration.ofSeconds(1)).burst(20)}</pre>
 *
 * @param tokens of one period, up to 10<sup>12</sup>; 0 refuses everything
 * @param per the period, 1 us to 100 years in whole microseconds; a part of one counts as one
 * @param burst the most tokens at once, the whole bucket; {@code null} is the tokens of one period, as it has to be with another
 *     algorithm than {@link Algorithm#GCRA}
 * @param algorithm how it counts
 */
public record Rate(long tokens, Duration per, @Nullable Long burst, Algorithm algorithm) {
    /**
     * A rate of these; what they may be is the core's to say.
     *
     * @param tokens so many
     * @param per in so long
     * @param burst how many at once; {@code null} for as many as {@code tokens}
     * @param algorithm how it counts
     */
    public Rate {
        Arguments.notNull(per, "per");
        Arguments.notNull(algorithm, "algorithm");
    }

    /**
     * A rate whose burst is as many tokens as a period brings.
     *
     * @param tokens of one period, up to 10<sup>12</sup>; 0 refuses everything
     * @param per the period, 1 us to 100 years in whole microseconds; a part of one counts as one
     * @return the rate; it is checked where a limiter is made of it
     */
    public static Rate of(long tokens, Duration per) {
        return new Rate(tokens, per, null, Algorithm.GCRA);
    }

    /**
     * The same with another burst.
     *
     * @param burst the most tokens at once, 1 to 10<sup>12</sup>
     * @return a copy with it
     */
    public Rate burst(long burst) {
        return new Rate(tokens, per, burst, algorithm);
    }

    /**
     * The same, counted by another algorithm.
     *
     * @param algorithm how it counts
     * @return a copy with it
     */
    public Rate by(Algorithm algorithm) {
        return new Rate(tokens, per, burst, algorithm);
    }

    /** As it crosses: tokens, microseconds, whether it has a burst, and the burst. */
    LongStream numbers() {
        return LongStream.of(tokens, Arguments.micros(per), burst == null ? 0 : 1, burst == null ? 0 : burst);
    }
}
