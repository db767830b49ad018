package org.libdlock;

import org.jspecify.annotations.Nullable;

/** A clock did something that libdlock cannot make up for. */
public final class ClockException extends DlockException {
    private static final long serialVersionUID = 1;

    ClockException(String message, String op, @Nullable String object) {
        super(Kind.CLOCK, message, op, object);
    }
}
