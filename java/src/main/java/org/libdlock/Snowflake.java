package org.libdlock;

import java.lang.ref.Reference;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import org.jspecify.annotations.Nullable;
import org.libdlock.internal.Library;
import org.libdlock.internal.Native;
import org.libdlock.internal.Reclaimer;

/**
 * Makes ids of 63 bits that grow with time and that no two workers ever share, without asking anybody. May be shared between threads.
 *
 * <p>A datacenter and worker number belongs to <em>one process at a time</em>: two processes with the same one make duplicates, and
 * nothing can see it. Generators of one identity share their state within a process, as far as it has loaded libdlock once: two class
 * loaders with a jar each, as two web applications have, are as two processes.
 *
 * <p>Where numbers need not be given, lease one: {@link Client#worker(String)}.
 */
public final class Snowflake {
    private final long handle;

    @SuppressWarnings("UnusedVariable") // its end would end the hold of the number: it must not be collected first
    private final @Nullable Client client;

    /**
     * What an id says about itself.
     *
     * @param timeMs when it was made, in milliseconds since 1970
     * @param datacenter where
     * @param worker by whom
     * @param sequence the sequence number within the millisecond, from 0
     */
    public record Parts(long timeMs, int datacenter, int worker, int sequence) {
        static Parts of(long[] numbers) {
            return new Parts(numbers[0], (int) numbers[1], (int) numbers[2], (int) numbers[3]);
        }
    }

    /**
     * A generator with the default layout.
     *
     * @param datacenter 0 to 31
     * @param worker 0 to 31, this process's alone
     * @throws InvalidArgumentException for a number that does not fit
     * @throws ClockException as {@link Builder#startWait}
     */
    public Snowflake(long datacenter, long worker) {
        this(builder(datacenter, worker));
    }

    private Snowflake(Builder builder) {
        Library.load();
        long[] layout = builder.layout == null ? null : builder.layout.numbers();
        long startWait = builder.startWait == null ? Arguments.NOT_GIVEN : Arguments.millis(builder.startWait);
        long opened = Native.snowflakeOpen(
                builder.datacenter, builder.worker, layout, Arguments.millis(builder.borrowAhead), startWait);
        handle = opened;
        client = null;
        Reclaimer.register(this, () -> Native.free(opened));
    }

    /** One under a worker number. */
    Snowflake(Client client, long opened) {
        this.client = client;
        handle = opened;
        Reclaimer.register(this, () -> Native.free(opened));
    }

    /**
     * For a generator with more to say.
     *
     * @param datacenter the datacenter's number
     * @param worker the worker's number, this process's alone
     * @return a builder
     */
    public static Builder builder(long datacenter, long worker) {
        return new Builder(datacenter, worker);
    }

    /** How a generator is made. */
    public static final class Builder {
        private final long datacenter;
        private final long worker;
        private @Nullable Layout layout;
        private Duration borrowAhead = Duration.ZERO;
        private @Nullable Duration startWait;

        private Builder(long datacenter, long worker) {
            this.datacenter = datacenter;
            this.worker = worker;
        }

        /**
         * Which bits hold what.
         *
         * @param layout {@link Layout#named}, or one of your own
         * @return this
         */
        public Builder layout(Layout layout) {
            Arguments.notNull(layout, "layout");
            this.layout = layout;
            return this;
        }

        /**
         * How far ids may run ahead of the clock, rather than wait for the next millisecond.
         *
         * @param ahead 0 to 10 ms; 0 by default
         * @return this
         */
        public Builder borrowAhead(Duration ahead) {
            Arguments.notNull(ahead, "ahead");
            borrowAhead = ahead;
            return this;
        }

        /**
         * How long {@link #build} may block when the clock was set back since an earlier generator of this identity. After that it
         * throws {@link ClockException}.
         *
         * @param wait 0 to 60 s; 1 s by default
         * @return this
         */
        public Builder startWait(Duration wait) {
            Arguments.notNull(wait, "wait");
            startWait = wait;
            return this;
        }

        /**
         * Makes the generator.
         *
         * @return a generator
         * @throws InvalidArgumentException for a number, layout or duration out of bounds
         * @throws ClockException as {@link #startWait}
         */
        public Snowflake build() {
            return new Snowflake(this);
        }
    }

    /**
     * The next id: larger than any before it. Waits, for less than a millisecond, when those of this millisecond are used up.
     *
     * @return an id
     * @throws ClockException past the end of the layout's time
     * @throws LockLostException when it was made by a {@link Worker} whose number is lost
     * @throws NotHeldException when that number was released
     */
    public long nextId() {
        try {
            return Native.snowflakeNextId(handle);
        } finally {
            Reference.reachabilityFence(this);
        }
    }

    /**
     * The next ids, in increasing order. Blocks for as long as the layout makes it take, 1 ms for every 4,096 of the default one; a virtual
     * thread keeps its carrier for that time.
     *
     * @param count 1 to 1,000,000
     * @return as many ids
     * @throws InvalidArgumentException for another count
     * @throws ClockException past the end of the layout's time; else as {@link #nextId()}, and then none is given out
     */
    public long[] nextIds(int count) {
        try {
            return Native.snowflakeNextIds(handle, count);
        } finally {
            Reference.reachabilityFence(this);
        }
    }

    /**
     * Takes an id of this generator's layout apart.
     *
     * @param id 0 or more
     * @return what it says
     * @throws InvalidArgumentException when it does not fit the layout
     */
    public Parts decode(long id) {
        try {
            return Parts.of(Native.snowflakeDecode(handle, id));
        } finally {
            Reference.reachabilityFence(this);
        }
    }

    /**
     * The layout of this generator's ids.
     *
     * @return the layout
     */
    public Layout layout() {
        try {
            return Layout.of(Native.snowflakeLayout(handle));
        } finally {
            Reference.reachabilityFence(this);
        }
    }

    /**
     * Writes an id as text.
     *
     * @param id 0 or more
     * @param base 10, 32, 36, 58 or 62
     * @return the text, for {@link #parse}
     * @throws InvalidArgumentException for a negative id or another base
     */
    public static String encode(long id, int base) {
        Library.load();
        return new String(Native.idEncode(id, base), StandardCharsets.US_ASCII);
    }

    /**
     * Reads what {@link #encode} wrote.
     *
     * @param text an id in that base
     * @param base 10, 32, 36, 58 or 62
     * @return the id
     * @throws InvalidArgumentException for a text that is no id in that base, or another base
     */
    public static long parse(String text, int base) {
        Arguments.notNull(text, "text");
        Library.load();
        return Native.idParse(Arguments.textBytes(text, "id", "parse"), base);
    }
}
