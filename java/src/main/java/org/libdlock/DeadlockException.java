// Written by `python3 api/write.py` from api/errors.json.
package org.libdlock;

import org.libdlock.internal.Failure;

/** The holder acquired a lock again that is not re-entrant. */
public final class DeadlockException extends DlockException {
    private static final long serialVersionUID = 1;

    DeadlockException(Failure failure) {
        super(failure);
    }
}
