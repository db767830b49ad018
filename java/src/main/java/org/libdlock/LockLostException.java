package org.libdlock;

import org.jspecify.annotations.Nullable;

/** The lease ran out, or the lock was taken away, while it was held. */
public final class LockLostException extends IllegalMonitorStateException implements DlockError {
    private static final long serialVersionUID = 1;

    /** See {@link #op()}. */
    private final String op;

    /** See {@link #object()}. */
    private final @Nullable String object;

    LockLostException(String message, String op, @Nullable String object) {
        super(message);
        this.op = op;
        this.object = object;
    }

    @Override
    public int code() {
        return Kind.LOST.code();
    }

    @Override
    public String kind() {
        return Kind.LOST.name();
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
