package org.libdlock;

import org.jspecify.annotations.Nullable;

/** A value was refused before any I/O; the message says which, and what is allowed. */
public class InvalidArgumentException extends IllegalArgumentException implements DlockError {
    private static final long serialVersionUID = 1;

    /** See {@link #kind()}. */
    private final Kind kind;

    /** See {@link #op()}. */
    private final String op;

    /** See {@link #object()}. */
    private final @Nullable String object;

    InvalidArgumentException(String message, String op, @Nullable String object) {
        this(Kind.INVALID_ARGUMENT, message, op, object);
    }

    InvalidArgumentException(Kind kind, String message, String op, @Nullable String object) {
        super(message);
        this.kind = kind;
        this.op = op;
        this.object = object;
    }

    @Override
    public final int code() {
        return kind.code();
    }

    @Override
    public final String kind() {
        return kind.name();
    }

    @Override
    public final String op() {
        return op;
    }

    @Override
    public final @Nullable String object() {
        return object;
    }
}
