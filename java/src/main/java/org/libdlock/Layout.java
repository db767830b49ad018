package org.libdlock;

import org.libdlock.internal.Library;
import org.libdlock.internal.Native;

/**
 * Which bits of an id hold what: from the highest, time, datacenter, worker, sequence; 63 together at most. It is checked where it is
 * used.
 *
 * @param epochMs when time began, in milliseconds since 1970: 0 to the end of the year 9999
 * @param timeBits of the milliseconds since then: 1 to 48; 41 last 69 years
 * @param datacenterBits 0 to 31
 * @param workerBits 0 to 31
 * @param sequenceBits of the count within a millisecond: 0 to 31; 12 are 4,096 ids a millisecond
 */
public record Layout(long epochMs, int timeBits, int datacenterBits, int workerBits, int sequenceBits) {
    /**
     * The layout that has this name.
     *
     * @param name {@code "default"} (41, 5, 5 and 12 bits since 2015), {@code "twitter"} (the same since November 2010), or
     *     {@code "js53"} (41, 0, 5 and 7 bits since 2015, which a JavaScript number holds exactly)
     * @return the layout
     * @throws InvalidArgumentException for any other name
     */
    public static Layout named(String name) {
        Arguments.notNull(name, "name");
        Library.load();
        return of(Native.layoutNamed(Arguments.textBytes(name, "layout's name", "layout")));
    }

    /**
     * Takes an id of this layout apart; also one that no generator made.
     *
     * @param id 0 or more
     * @return what it says
     * @throws InvalidArgumentException when the id does not fit the layout, or the layout is none
     */
    public Snowflake.Parts decode(long id) {
        Library.load();
        return Snowflake.Parts.of(Native.layoutDecode(numbers(), id));
    }

    long[] numbers() {
        return new long[] {epochMs, timeBits, datacenterBits, workerBits, sequenceBits};
    }

    static Layout of(long[] numbers) {
        return new Layout(numbers[0], (int) numbers[1], (int) numbers[2], (int) numbers[3], (int) numbers[4]);
    }
}
