package org.libdlock;

import java.time.Duration;
import org.jspecify.annotations.Nullable;
import org.libdlock.internal.Failure;

/**
 * What libdlock throws where the JDK has no exception that fits. Those that have one implement {@link DlockError} all the
 * same.
 */
public class DlockException extends RuntimeException implements DlockError {
    private static final long serialVersionUID = 1;

    // <api:body> written by `python3 api/write.py` from api/errors.json
    /** What it tells. */
    private final Failure failure;

    DlockException(Failure failure) {
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
    // </api:body>
}
