// Written by `python3 api/write.py` from api/errors.json.
package org.libdlock;

import org.libdlock.internal.Failure;

/** A clock is behind or jumps by more than the call waits for, or is past the end of a layout's time. */
public final class ClockException extends DlockException {
    private static final long serialVersionUID = 1;

    ClockException(Failure failure) {
        super(failure);
    }
}
