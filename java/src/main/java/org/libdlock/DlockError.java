package org.libdlock;

import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * What every exception of libdlock tells, besides its message. Each of them is also the exception of the JDK that fits, so that code
 * written for a {@link java.util.concurrent.locks.ReentrantLock} catches what it expects; this interface is what they share.
 *
 * <pre>{@code
 * try {
 *     lock.lock();
 * } catch (RuntimeException e) {
 *     if (e instanceof DlockError error && error.retryable()) {
 *         tryAgainLater();
 *     }
 * }
 * }</pre>
 */
public interface DlockError {
    /**
     * The number of the kind, frozen and the same in every language: 1 for busy, negative for errors.
     *
     * @return the number
     */
    int code();

    /**
     * The name of the kind, such as {@code "NOT_HELD"}.
     *
     * @return the name, in capitals
     */
    String kind();

    /**
     * The operation that failed, such as {@code "acquire"}.
     *
     * @return a word or two, in lower case
     */
    String op();

    /**
     * The name of the lock, where one was involved.
     *
     * @return the name with the client's key prefix, or {@code null}
     */
    @Nullable
    String object();

    /**
     * What the kind has in common with others that a program handles alike: {@code "USAGE"}, {@code "UNAVAILABLE"} (caught as
     * {@link UnavailableException}) or {@code "HOLD_ENDED"} (caught as {@link HoldEndedException}).
     *
     * @return the family's name, in capitals, or {@code null} for a kind of its own
     */
    @Nullable
    String family();

    // <api:facts> written by `python3 api/write.py` from api/errors.json
    /**
     * The owner in the way, as it stands on the server; of a busy error, where the server named one.
     *
     * @return {@code null} when there is none
     */
    @Nullable
    String holder();

    /**
     * How much of that holder's lease was left when it was seen; the holder may renew it.
     *
     * @return {@code null} when it is not known
     */
    @Nullable
    Duration remaining();

    /**
     * After how long asking again can succeed, at the soonest: of a clock error, until the clock is no longer behind;
     * a limiter's refusal is no error but a decision, which says it.
     *
     * @return {@code null} when it is not known
     */
    @Nullable
    Duration retryAfter();

    /**
     * What is allowed in place of the value that was refused, such as {@code 100 ms to 24 h}.
     *
     * @return {@code null} when there is none
     */
    @Nullable
    String allowed();

    /**
     * Whether the same call, made again later, can succeed although the program changes nothing: of a connection
     * error, where the server cannot be reached, but not with a wrong password; after an unknown outcome it may find
     * that the first call was carried out.
     *
     * @return whether it can
     */
    boolean retryable();
    // </api:facts>
}
