package org.libdlock.spring;

import java.time.Duration;
import org.jspecify.annotations.Nullable;
import org.libdlock.Decision;

/** A call of a {@link RateLimited} method that the limiter refused. */
public class RateLimitedException extends RuntimeException {
    private static final long serialVersionUID = 1;

    /** The limiter's name. */
    private final String limiter;

    private final transient Decision decision;

    /**
     * For a refusal.
     *
     * @param limiter the limiter's name
     * @param decision what it decided
     */
    public RateLimitedException(String limiter, Decision decision) {
        super("rate limit " + limiter + " reached; " + again(decision.retryAfter()));
        this.limiter = limiter;
        this.decision = decision;
    }

    private static String again(@Nullable Duration retryAfter) {
        return retryAfter == null
                ? "a call of this cost can never be granted"
                : "try again in " + Math.max(1, retryAfter.toMillis()) + " ms";
    }

    /**
     * Which limiter it was.
     *
     * @return its name
     */
    public String limiter() {
        return limiter;
    }

    /**
     * What the limiter decided.
     *
     * @return the refusal
     */
    public Decision decision() {
        return decision;
    }
}
