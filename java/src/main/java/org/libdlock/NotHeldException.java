package org.libdlock;

import org.jspecify.annotations.Nullable;

/** Released or extended by a thread or handle that does not hold the lock, or not any more. */
public final class NotHeldException extends IllegalMonitorStateException implements DlockError {
    private static final long serialVersionUID = 1;

    /** See {@link #op()}. */
    private final String op;

    /** See {@link #object()}. */
    private final @Nullable String object;

    NotHeldException(String message, String op, @Nullable String object) {
        super(message);
        this.op = op;
        this.object = object;
    }

    @Override
    public int code() {
        return Kind.NOT_HELD.code();
    }

    @Override
    public String kind() {
        return Kind.NOT_HELD.name();
    }

    @Override
    public String op() {
        return op;
    }

    @Override
    public @Nullable String object() {
        return object;
    }
}
