// Written by `python3 api/write.py` from api/errors.json.
package org.libdlock;

import java.time.Duration;
import org.jspecify.annotations.Nullable;
import org.libdlock.internal.Failure;

/** This server, or this version of libdlock, cannot do it; the message says what can. */
public final class UnsupportedException extends UnsupportedOperationException implements DlockError {
    private static final long serialVersionUID = 1;

    /** What it tells. */
    private final Failure failure;

    UnsupportedException(Failure failure) {
        super(failure.message());
        this.failure = failure;
    }

    @Override
    public int code() {
        return Kind.of(failure.code()).code();
    }

    @Override
    public String kind() {
        return Kind.of(failure.code()).name();
    }

    @Override
    public @Nullable String family() {
        return Kind.of(failure.code()).family();
    }

    @Override
    public String op() {
        return failure.op();
    }

    @Override
    public @Nullable String object() {
        return failure.object();
    }

    @Override
    public @Nullable String holder() {
        return failure.holder();
    }

    @Override
    public @Nullable Duration remaining() {
        return failure.remaining();
    }

    @Override
    public @Nullable Duration retryAfter() {
        return failure.retryAfter();
    }

    @Override
    public @Nullable String allowed() {
        return failure.allowed();
    }

    @Override
    public boolean retryable() {
        return failure.retryable();
    }
}
