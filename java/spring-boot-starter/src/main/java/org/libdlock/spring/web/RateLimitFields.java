package org.libdlock.spring.web;

import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.StringJoiner;
import org.jspecify.annotations.Nullable;
import org.libdlock.Decision;
import org.libdlock.Rate;

/** The fields of an answer, as draft-ietf-httpapi-ratelimit-headers-10 writes them. docs/http.md has the rules. */
final class RateLimitFields {
    static final String POLICY = "RateLimit-Policy";
    static final String LIMIT = "RateLimit";

    private static final long MICROS = 1_000_000;

    /** An integer of structured fields (RFC 9651) has at most 15 digits. */
    private static final BigInteger LARGEST = BigInteger.valueOf(999_999_999_999_999L);

    private final List<String> names = new ArrayList<>();
    private final List<Long> bursts = new ArrayList<>();
    private final String policy;

    RateLimitFields(String name, List<Rate> rates) {
        String escaped = escaped(name);
        StringJoiner entries = new StringJoiner(", ");
        for (Rate rate : rates) {
            String quoted =
                    rates.size() == 1 ? "\"" + escaped + "\"" : "\"" + escaped + "-" + (names.size() + 1) + "\"";
            names.add(quoted);
            Long burst = rate.burst();
            bursts.add(burst == null ? rate.tokens() : burst);
            BigInteger window = BigInteger.valueOf(seconds(rate.per()));
            BigInteger quota = BigInteger.valueOf(rate.tokens())
                    .multiply(window)
                    .multiply(BigInteger.valueOf(MICROS))
                    .divide(BigInteger.valueOf(micros(rate.per())))
                    .min(LARGEST);
            entries.add(quoted + ";q=" + quota + ";w=" + window);
        }
        policy = entries.toString();
    }

    /** The limiter's rates: {@code RateLimit-Policy}. */
    String policy() {
        return policy;
    }

    /** What is left: {@code RateLimit}; null where a policy decided without the server, because nobody knows. */
    @Nullable
    String limit(Decision decision) {
        if (decision.serverTimeUs().isEmpty()) {
            return null;
        }
        String text = names.get(toldOf(decision)) + ";r=" + decision.remaining();
        return names.size() == 1 ? text + ";t=" + seconds(decision.resetAfter()) : text;
    }

    /** Which of the rates the answer is about. */
    private int toldOf(Decision decision) {
        if (decision.refusedBy().isPresent()) {
            return (int) decision.refusedBy().getAsLong();
        }
        return Math.max(bursts.indexOf(decision.limit()), 0);
    }

    /** After how many seconds a refused request may come again; null if it was granted, or never is. */
    static @Nullable Long retryAfter(Decision decision) {
        Duration wait = decision.retryAfter();
        return decision.allowed() || wait == null ? null : Math.max(seconds(wait), 1);
    }

    private static long micros(Duration duration) {
        return Math.addExact(Math.multiplyExact(duration.getSeconds(), MICROS), (duration.getNano() + 999) / 1000);
    }

    /** Whole seconds, rounded up. */
    private static long seconds(Duration duration) {
        return duration.getSeconds() + (duration.getNano() > 0 ? 1 : 0);
    }

    /** A name between quotes: nothing of it can end the text, or the line. */
    private static String escaped(String name) {
        StringBuilder text = new StringBuilder();
        for (byte each : name.getBytes(StandardCharsets.UTF_8)) {
            char character = (char) (each & 0xff);
            if (character == '"' || character == '\\') {
                text.append('\\').append(character);
            } else if (character >= ' ' && character <= '~' && character != '%') {
                text.append(character);
            } else {
                text.append(String.format("%%%02X", (int) character));
            }
        }
        return text.toString();
    }
}
