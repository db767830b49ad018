// Written by `python3 api/write.py` from api/errors.json.
package org.libdlock;

import org.libdlock.internal.Failure;

/** Release or extend by a caller that does not hold it, or not any more. */
public final class NotHeldException extends HoldEndedException {
    private static final long serialVersionUID = 1;

    NotHeldException(Failure failure) {
        super(failure);
    }
}
