package org.libdlock;

import org.jspecify.annotations.Nullable;

/** A defect in libdlock. Please report it. */
public final class InternalException extends DlockException {
    private static final long serialVersionUID = 1;

    InternalException(String message, String op, @Nullable String object) {
        super(Kind.INTERNAL, message, op, object);
    }
}
