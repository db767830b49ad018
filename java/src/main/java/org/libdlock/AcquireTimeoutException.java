package org.libdlock;

import org.jspecify.annotations.Nullable;

/** Not acquired within the wait: somebody else holds it. {@code tryLock} returns {@code false} instead. */
public final class AcquireTimeoutException extends DlockException {
    private static final long serialVersionUID = 1;

    AcquireTimeoutException(String message, String op, @Nullable String object) {
        super(Kind.BUSY, message, op, object);
    }
}
