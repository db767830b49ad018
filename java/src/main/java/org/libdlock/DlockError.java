package org.libdlock;

import org.jspecify.annotations.Nullable;

/**
 * What every exception of libdlock tells, besides its message. Each of them is also the exception of the JDK that fits, so that code
 * written for a {@link java.util.concurrent.locks.ReentrantLock} catches what it expects; this interface is what they share.
 *
 * <pre>{@code
 * try {
 *     lock.lock();
 * } catch (RuntimeException e) {
 *     if (e instanceof DlockError error && error.kind().equals("CONNECTION")) {
 *         goOnWithout();
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
}
