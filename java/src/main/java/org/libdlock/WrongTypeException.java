package org.libdlock;

import org.jspecify.annotations.Nullable;

/** The key of that name holds something else; it was left untouched. */
public final class WrongTypeException extends DlockException {
    private static final long serialVersionUID = 1;

    WrongTypeException(String message, String op, @Nullable String object) {
        super(Kind.WRONG_TYPE, message, op, object);
    }
}
