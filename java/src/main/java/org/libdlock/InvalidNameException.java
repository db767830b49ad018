// Written by `python3 api/write.py` from api/errors.json.
package org.libdlock;

import org.libdlock.internal.Failure;

/**
 * A name was refused before any I/O: empty, longer than 512 bytes, not UTF-8, with a NUL, with braces that are no
 * cluster's hash tag, or the name of a companion key such as {@code dlock_seen:{a}}.
 */
public final class InvalidNameException extends InvalidArgumentException {
    private static final long serialVersionUID = 1;

    InvalidNameException(Failure failure) {
        super(failure);
    }
}
