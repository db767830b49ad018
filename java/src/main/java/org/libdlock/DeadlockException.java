// Written by `python3 api/write.py` from api/errors.json.
package org.libdlock;

import org.libdlock.internal.Failure;

/** The holder would wait for itself: it acquires again what is not re-entrant, or it reads and wants to write. */
public final class DeadlockException extends DlockException {
    private static final long serialVersionUID = 1;

    DeadlockException(Failure failure) {
        super(failure);
    }
}
