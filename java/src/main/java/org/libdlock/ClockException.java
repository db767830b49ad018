// Written by `python3 api/write.py` from api/errors.json.
package org.libdlock;

import org.libdlock.internal.Failure;

/** A clock error that waiting cannot correct. */
public final class ClockException extends DlockException {
    private static final long serialVersionUID = 1;

    ClockException(Failure failure) {
        super(failure);
    }
}
