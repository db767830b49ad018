package org.libdlock;

import org.jspecify.annotations.Nullable;

/** The server answered with an error that has no kind of its own. */
public final class ServerException extends DlockException {
    private static final long serialVersionUID = 1;

    ServerException(String message, String op, @Nullable String object) {
        super(Kind.SERVER, message, op, object);
    }
}
