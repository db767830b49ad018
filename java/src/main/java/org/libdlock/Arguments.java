package org.libdlock;

import java.nio.ByteBuffer;
import java.nio.CharBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.temporal.ChronoUnit;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.libdlock.internal.Failure;
import org.libdlock.internal.Wire;

/**
 * From Java's values to the core's: durations to milliseconds, strings to UTF-8. What a value may be is the core's to decide; refused
 * here is only what could not be carried to it unchanged.
 */
final class Arguments {
    /** A wait or a lease that is not given: for ever, and the lock's own. */
    static final long NOT_GIVEN = Long.MIN_VALUE;

    /** Some virtual machines have no longer array. */
    private static final int LONGEST_ARRAY = Integer.MAX_VALUE - 8;

    private static final Duration FOR_EVER = ChronoUnit.FOREVER.getDuration();

    /** What would be the UTF-8 of one. */
    private static final byte[] LONE_SURROGATE = {(byte) 0xed, (byte) 0xa0, (byte) 0x80};

    private Arguments() {}

    /** A {@link NullPointerException} that names the parameter. */
    static void notNull(@Nullable Object given, String parameter) {
        if (given == null) {
            throw new NullPointerException(parameter + " is null");
        }
    }

    /** Rounded away from zero: a wait of a microsecond is short, but it is a wait. What is too long for a number is the longest there is. */
    static long millis(Duration duration) {
        try {
            long millis = duration.toMillis();
            boolean whole = Duration.ofMillis(millis).equals(duration);
            return whole ? Math.max(millis, -Long.MAX_VALUE) : clampedAdd(millis, duration.isNegative() ? -1 : 1);
        } catch (ArithmeticException tooLong) {
            return duration.isNegative() ? -Long.MAX_VALUE : Long.MAX_VALUE;
        }
    }

    /** As {@link #millis(Duration)}. */
    static long millis(long time, TimeUnit unit) {
        long millis = unit.toMillis(time);
        boolean whole = unit.convert(millis, TimeUnit.MILLISECONDS) == time;
        // What is beyond the numbers of milliseconds stays at their end.
        return whole ? Math.max(millis, -Long.MAX_VALUE) : clampedAdd(millis, Long.signum(time));
    }

    /** Whole microseconds, rounded away from zero. */
    static long micros(Duration duration) {
        if (duration.isNegative()) {
            Duration opposite = duration.equals(Duration.ofSeconds(Long.MIN_VALUE)) ? FOR_EVER : duration.negated();
            return -micros(opposite);
        }
        try {
            long whole = Math.multiplyExact(duration.toSeconds(), 1_000_000L);
            return Math.addExact(whole, (duration.toNanosPart() + 999) / 1000);
        } catch (ArithmeticException tooLong) {
            return Long.MAX_VALUE;
        }
    }

    private static long clampedAdd(long millis, int sign) {
        return Math.abs(millis) >= Long.MAX_VALUE || millis == Long.MIN_VALUE ? sign * Long.MAX_VALUE : millis + sign;
    }

    /** Null waits for ever, as does the longest duration that Java has; zero or less does not wait. */
    static long waitMillis(@Nullable Duration wait) {
        return wait == null || wait.equals(FOR_EVER) ? NOT_GIVEN : Math.max(0, millis(wait));
    }

    /** As the JDK's locks have it: zero or less does not wait, {@link Long#MAX_VALUE} of any unit is for ever. */
    static long waitMillis(long wait, TimeUnit unit) {
        return wait == Long.MAX_VALUE ? NOT_GIVEN : Math.max(0, millis(wait, unit));
    }

    /** Null is the lock's own. */
    static long leaseMillis(@Nullable Duration lease) {
        return lease == null ? NOT_GIVEN : millis(lease);
    }

    /** -1 is the lock's own, as in Redisson. */
    static long leaseMillis(long lease, TimeUnit unit) {
        return lease == -1 ? NOT_GIVEN : millis(lease, unit);
    }

    /** A name as UTF-8, which a string with half a surrogate pair has none of. */
    static byte[] nameBytes(String name, String op) {
        try {
            return utf8(name);
        } catch (CharacterCodingException error) {
            String allowed = "1 to 512 bytes of UTF-8 without NUL";
            Failure failure = refusal(Kind.INVALID_NAME, "the name has a lone surrogate", allowed, op);
            InvalidNameException refused = new InvalidNameException(failure);
            refused.initCause(error);
            throw refused;
        }
    }

    /** A key as UTF-8. Half a surrogate pair, which has none, is what the core refuses for that, with the limiter's name. */
    static byte[] keyBytes(String key) {
        try {
            return utf8(key);
        } catch (CharacterCodingException lone) {
            return LONE_SURROGATE.clone();
        }
    }

    /** A text as UTF-8. It may hold a password, so no error repeats it. */
    static byte[] textBytes(String text, String what, String op) {
        try {
            return utf8(text);
        } catch (CharacterCodingException error) {
            String given = "the " + what + " has a lone surrogate";
            Failure failure = refusal(Kind.INVALID_ARGUMENT, given, "text without lone surrogates", op);
            InvalidArgumentException refused = new InvalidArgumentException(failure);
            refused.initCause(error);
            throw refused;
        }
    }

    /** Items as they cross, in one array: more than that has room for is refused. */
    static byte[] packed(List<byte[]> items, String op) {
        long length = items.stream().mapToLong(item -> 4L + item.length).sum();
        if (length > LONGEST_ARRAY) {
            String given = "items of " + length + " bytes at once are out of range";
            String allowed = "up to " + LONGEST_ARRAY + " bytes, with 4 more for each item";
            throw new InvalidArgumentException(refusal(Kind.INVALID_ARGUMENT, given, allowed, op));
        }
        return Wire.pack(items);
    }

    private static byte[] utf8(String text) throws CharacterCodingException {
        ByteBuffer encoded = StandardCharsets.UTF_8.newEncoder().encode(CharBuffer.wrap(text));
        byte[] bytes = new byte[encoded.remaining()];
        encoded.get(bytes);
        return bytes;
    }

    /** What the core has no part in. */
    static InvalidArgumentException refused(String what, String allowed, String op) {
        return new InvalidArgumentException(refusal(Kind.INVALID_ARGUMENT, what, allowed, op));
    }

    private static Failure refusal(Kind kind, String what, String allowed, String op) {
        String message = op + ": " + what + "; allowed: " + allowed;
        return new Failure(kind.code(), op, null, message, null, -1, -1, allowed, false);
    }
}
