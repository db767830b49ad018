package org.libdlock;

import org.jspecify.annotations.Nullable;

/** The server is at its memory limit and refused to write. */
public final class ServerOutOfMemoryException extends DlockException {
    private static final long serialVersionUID = 1;

    ServerOutOfMemoryException(String message, String op, @Nullable String object) {
        super(Kind.OUT_OF_MEMORY, message, op, object);
    }
}
