// Written by `python3 api/write.py` from api/errors.json.
package org.libdlock;

import org.libdlock.internal.Failure;

/** The key holds something else; it was left untouched. */
public final class WrongTypeException extends DlockException {
    private static final long serialVersionUID = 1;

    WrongTypeException(Failure failure) {
        super(failure);
    }
}
