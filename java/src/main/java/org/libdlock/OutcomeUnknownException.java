package org.libdlock;

import org.jspecify.annotations.Nullable;

/** The request was sent and no reply came: it may or may not have been carried out. */
public final class OutcomeUnknownException extends DlockException {
    private static final long serialVersionUID = 1;

    OutcomeUnknownException(String message, String op, @Nullable String object) {
        super(Kind.OUTCOME_UNKNOWN, message, op, object);
    }
}
