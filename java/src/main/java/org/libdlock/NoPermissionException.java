package org.libdlock;

import org.jspecify.annotations.Nullable;

/** The server's access rules forbid the command, key or channel; the message names the rule that is missing. */
public final class NoPermissionException extends DlockException {
    private static final long serialVersionUID = 1;

    NoPermissionException(String message, String op, @Nullable String object) {
        super(Kind.NO_PERMISSION, message, op, object);
    }
}
