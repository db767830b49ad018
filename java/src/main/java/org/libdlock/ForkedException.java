package org.libdlock;

import org.jspecify.annotations.Nullable;

/**
 * An object from before a fork was used in the child. A JVM does not fork itself; a program that embeds one
 * may.
 */
public final class ForkedException extends IllegalStateException implements DlockError {
    private static final long serialVersionUID = 1;

    /** See {@link #op()}. */
    private final String op;

    /** See {@link #object()}. */
    private final @Nullable String object;

    ForkedException(String message, String op, @Nullable String object) {
        super(message);
        this.op = op;
        this.object = object;
    }

    @Override
    public int code() {
        return Kind.FORKED.code();
    }

    @Override
    public String kind() {
        return Kind.FORKED.name();
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
