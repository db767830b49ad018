package org.libdlock;

import java.nio.ByteBuffer;
import java.nio.CharBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * From Java's values to the core's: durations to milliseconds, strings to UTF-8. What a value may be is the core's to decide; refused
 * here is only what could not be carried to it unchanged.
 */
final class Arguments {
    static final long FOR_EVER = -1;
    static final long OWN_LEASE = 0;

    private Arguments() {}

    /** Rounded away from zero: a wait of a microsecond is short, but it is a wait. What is too long for a number is the longest there is. */
    static long millis(Duration duration) {
        try {
            long millis = duration.toMillis();
            return Duration.ofMillis(millis).equals(duration) ? millis : millis + (duration.isNegative() ? -1 : 1);
        } catch (ArithmeticException tooLong) {
            return duration.isNegative() ? Long.MIN_VALUE : Long.MAX_VALUE;
        }
    }

    /** As {@link #millis(Duration)}. */
    static long millis(long time, TimeUnit unit) {
        long millis = unit.toMillis(time);
        boolean whole = unit.convert(millis, TimeUnit.MILLISECONDS) == time;
        return whole || Math.abs(millis) == Long.MAX_VALUE || millis == Long.MIN_VALUE ? millis : millis + Long.signum(time);
    }

    /** Whole microseconds, rounded away from zero. */
    static long micros(Duration duration) {
        try {
            long micros = Math.addExact(Math.multiplyExact(duration.getSeconds(), 1_000_000L), duration.getNano() / 1000);
            return duration.getNano() % 1000 == 0 ? micros : Math.addExact(micros, 1);
        } catch (ArithmeticException tooLong) {
            return duration.isNegative() ? Long.MIN_VALUE : Long.MAX_VALUE;
        }
    }

    /** Null waits for ever; below zero that is what the core would understand. */
    static long waitMillis(@Nullable Duration wait, String op, String name) {
        if (wait == null) {
            return FOR_EVER;
        }
        if (wait.isNegative()) {
            throw invalid("a wait of " + wait + " was given; allowed are zero (do not wait) or more", op, name);
        }
        return millis(wait);
    }

    /** As the JDK's locks have it: zero or less does not wait. */
    static long waitMillis(long wait, TimeUnit unit) {
        return Math.max(0, millis(wait, unit));
    }

    /** Null is the lock's own; the core would take a zero for that. */
    static long leaseMillis(@Nullable Duration lease, String op, String name) {
        if (lease == null) {
            return OWN_LEASE;
        }
        if (lease.isZero()) {
            throw invalid(
                    "a lease of zero was given; allowed are 100 ms to 24 h, or none for one that is renewed", op, name);
        }
        return millis(lease);
    }

    /** As {@link #leaseMillis(Duration, String, String)}, with Redisson's -1 for none. */
    static long leaseMillis(long lease, TimeUnit unit, String op, String name) {
        if (lease == -1) {
            return OWN_LEASE;
        }
        if (lease == 0) {
            throw invalid(
                    "a lease of 0 was given; allowed are 100 ms to 24 h, or -1 for one that is renewed", op, name);
        }
        return millis(lease, unit);
    }

    /** A name as UTF-8, which a string with half a surrogate pair has none of. */
    static byte[] nameBytes(String name, String op) {
        try {
            return utf8(name);
        } catch (CharacterCodingException error) {
            String message = op + ": the name has a lone surrogate; a name is 1 to 512 bytes of UTF-8";
            InvalidNameException refused = new InvalidNameException(message, op, null);
            refused.initCause(error);
            throw refused;
        }
    }

    /** A text as UTF-8. It may hold a password, so no error repeats it. */
    static byte[] textBytes(String text, String what, String op) {
        try {
            return utf8(text);
        } catch (CharacterCodingException error) {
            InvalidArgumentException refused = invalid("the " + what + " has a lone surrogate", op, null);
            refused.initCause(error);
            throw refused;
        }
    }

    private static byte[] utf8(String text) throws CharacterCodingException {
        ByteBuffer encoded = StandardCharsets.UTF_8.newEncoder().encode(CharBuffer.wrap(text));
        byte[] bytes = new byte[encoded.remaining()];
        encoded.get(bytes);
        return bytes;
    }

    static InvalidArgumentException invalid(String message, String op, @Nullable String name) {
        String where = name == null ? op : op + " \"" + name + "\"";
        return new InvalidArgumentException(where + ": " + message, op, name);
    }
}
