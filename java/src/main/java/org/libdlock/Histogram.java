package org.libdlock;

import java.time.Duration;
import java.time.temporal.ChronoUnit;
import java.util.Arrays;
import java.util.List;

// <api:record> written by `python3 api/write.py` from api/records.json
/**
 * How often something took how long.
 *
 * @param count how many there were
 * @param sum all together
 * @param mean on average
 * @param p50 what half of them did not exceed: never too small, less than twice too large
 * @param p99 what 99 of 100 did not exceed, as precise
 * @param max the longest
 * @param buckets how many took less than 1 us, 1 to 2 us, 2 to 4 us, and so on; the last one counts everything longer
 *     too
 */
public record Histogram(
        long count, Duration sum, Duration mean, Duration p50, Duration p99, Duration max, List<Long> buckets) {
    // </api:record>
    /** Of numbers as {@code client_stats} of the native library has them, times in microseconds. */
    static Histogram of(long[] numbers) {
        return new Histogram(
                numbers[0],
                micros(numbers[1]),
                micros(numbers[2]),
                micros(numbers[3]),
                micros(numbers[4]),
                micros(numbers[5]),
                Arrays.stream(numbers, 6, numbers.length).boxed().toList());
    }

    private static Duration micros(long number) {
        return Duration.of(number, ChronoUnit.MICROS);
    }
}
