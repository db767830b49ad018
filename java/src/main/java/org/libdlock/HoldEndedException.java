// Written by `python3 api/write.py` from api/errors.json.
package org.libdlock;

import java.time.Duration;
import org.jspecify.annotations.Nullable;
import org.libdlock.internal.Failure;

/** The caller does not hold what it acts on, or not any more: the class above those kinds of error. */
public abstract class HoldEndedException extends IllegalMonitorStateException implements DlockError {
    private static final long serialVersionUID = 1;

    /** What it tells. */
    private final Failure failure;

    HoldEndedException(Failure failure) {
        super(failure.message());
        this.failure = failure;
    }

    @Override
    public final int code() {
        return Kind.of(failure.code()).code();
    }

    @Override
    public final String kind() {
        return Kind.of(failure.code()).name();
    }

    @Override
    public final @Nullable String family() {
        return Kind.of(failure.code()).family();
    }

    @Override
    public final String op() {
        return failure.op();
    }

    @Override
    public final @Nullable String object() {
        return failure.object();
    }

    @Override
    public final @Nullable String holder() {
        return failure.holder();
    }

    @Override
    public final @Nullable Duration remaining() {
        return failure.remaining();
    }

    @Override
    public final @Nullable Duration retryAfter() {
        return failure.retryAfter();
    }

    @Override
    public final @Nullable String allowed() {
        return failure.allowed();
    }

    @Override
    public final boolean retryable() {
        return failure.retryable();
    }
}
