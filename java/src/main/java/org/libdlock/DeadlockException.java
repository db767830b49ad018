package org.libdlock;

import org.jspecify.annotations.Nullable;

/** The holder asked again for a lock that is not re-entrant; it would have waited for itself. */
public final class DeadlockException extends DlockException {
    private static final long serialVersionUID = 1;

    DeadlockException(String message, String op, @Nullable String object) {
        super(Kind.DEADLOCK, message, op, object);
    }
}
