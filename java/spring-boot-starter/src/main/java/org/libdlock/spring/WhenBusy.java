package org.libdlock.spring;

/** What a call of a {@link Locked} method does that does not get the lock within its wait. */
public enum WhenBusy {
    /** It throws a {@link LockUnavailableException}. */
    THROW,

    /**
     * It does not run the method, and returns {@code null}, or a completed stage of {@code null}, or an empty
     * {@link java.util.Optional}. A method that returns another primitive than {@code void} cannot be skipped.
     */
    SKIP
}
