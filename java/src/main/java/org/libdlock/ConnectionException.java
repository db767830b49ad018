package org.libdlock;

import org.jspecify.annotations.Nullable;

/** The server could not be reached, or refused the connection or the password; nothing was done there. */
public final class ConnectionException extends DlockException {
    private static final long serialVersionUID = 1;

    ConnectionException(String message, String op, @Nullable String object) {
        super(Kind.CONNECTION, message, op, object);
    }
}
