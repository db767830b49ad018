package org.libdlock;

import org.jspecify.annotations.Nullable;

/**
 * A name was refused before any I/O: empty, longer than 512 bytes of UTF-8, with a NUL or a lone surrogate, or
 * with braces that form no usable hash tag.
 */
public final class InvalidNameException extends InvalidArgumentException {
    private static final long serialVersionUID = 1;

    InvalidNameException(String message, String op, @Nullable String object) {
        super(Kind.INVALID_NAME, message, op, object);
    }
}
