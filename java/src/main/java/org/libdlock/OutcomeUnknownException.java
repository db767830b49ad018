// Written by `python3 api/write.py` from api/errors.json.
package org.libdlock;

import org.libdlock.internal.Failure;

/** The request was sent and no reply came: it may or may not have been carried out. */
public final class OutcomeUnknownException extends UnavailableException {
    private static final long serialVersionUID = 1;

    OutcomeUnknownException(Failure failure) {
        super(failure);
    }
}
