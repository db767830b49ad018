package org.libdlock;

import java.util.concurrent.CancellationException;
import org.jspecify.annotations.Nullable;

/** The operation was cancelled; what it asked for was not done, or was undone. */
public final class CancelledException extends CancellationException implements DlockError {
    private static final long serialVersionUID = 1;

    /** See {@link #op()}. */
    private final String op;

    /** See {@link #object()}. */
    private final @Nullable String object;

    CancelledException(String message, String op, @Nullable String object) {
        super(message);
        this.op = op;
        this.object = object;
    }

    @Override
    public int code() {
        return Kind.CANCELLED.code();
    }

    @Override
    public String kind() {
        return Kind.CANCELLED.name();
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
