// Written by `python3 api/write.py` from api/errors.json.
package org.libdlock;

import org.libdlock.internal.Failure;

/** A defect in libdlock; please report it. */
public final class InternalException extends DlockException {
    private static final long serialVersionUID = 1;

    InternalException(Failure failure) {
        super(failure);
    }
}
