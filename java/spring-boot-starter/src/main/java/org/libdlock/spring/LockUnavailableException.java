package org.libdlock.spring;

import org.jspecify.annotations.Nullable;

/** A call of a {@link Locked} method that did not get its lock within its wait, or was interrupted while it waited. */
public class LockUnavailableException extends RuntimeException {
    private static final long serialVersionUID = 1;

    /** The lock's name. */
    private final String lock;

    /**
     * For a lock.
     *
     * @param lock its name
     * @param why the call has to do without it
     * @param cause what said so, if anything did
     */
    public LockUnavailableException(String lock, String why, @Nullable Throwable cause) {
        super("lock \"" + lock + "\": " + why, cause);
        this.lock = lock;
    }

    /**
     * Which lock it was.
     *
     * @return its name
     */
    public String lock() {
        return lock;
    }
}
