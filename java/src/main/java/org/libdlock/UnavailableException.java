// Written by `python3 api/write.py` from api/errors.json.
package org.libdlock;

import org.libdlock.internal.Failure;

/** The server, or the way to it, does not do what was asked: the class above those kinds of error. */
public abstract class UnavailableException extends DlockException {
    private static final long serialVersionUID = 1;

    UnavailableException(Failure failure) {
        super(failure);
    }
}
