package org.libdlock;

/** The answer to one item of a batch of {@link RateLimiter#tryAcquireMany}: a {@link Decision}, or an {@link Undecided}. */
public sealed interface Answer permits Decision, Undecided {
    /**
     * Whether the tokens were granted.
     *
     * @return false also when there was no decision
     */
    boolean allowed();
}
