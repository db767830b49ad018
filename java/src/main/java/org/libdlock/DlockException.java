package org.libdlock;

import org.jspecify.annotations.Nullable;

/**
 * What libdlock throws where the JDK has no exception that fits. Those that have one implement {@link DlockError} all the
 * same.
 */
public class DlockException extends RuntimeException implements DlockError {
    private static final long serialVersionUID = 1;

    /** See {@link #kind()}. */
    private final Kind kind;

    /** See {@link #op()}. */
    private final String op;

    /** See {@link #object()}. */
    private final @Nullable String object;

    DlockException(Kind kind, String message, String op, @Nullable String object) {
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
