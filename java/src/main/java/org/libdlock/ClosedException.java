package org.libdlock;

import org.jspecify.annotations.Nullable;

/** The client was closed, before the call or during it. */
public final class ClosedException extends IllegalStateException implements DlockError {
    private static final long serialVersionUID = 1;

    /** See {@link #op()}. */
    private final String op;

    /** See {@link #object()}. */
    private final @Nullable String object;

    ClosedException(String message, String op, @Nullable String object) {
        super(message);
        this.op = op;
        this.object = object;
    }

    @Override
    public int code() {
        return Kind.CLOSED.code();
    }

    @Override
    public String kind() {
        return Kind.CLOSED.name();
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
