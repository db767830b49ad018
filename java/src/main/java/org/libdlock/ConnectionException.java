// Written by `python3 api/write.py` from api/errors.json.
package org.libdlock;

import org.libdlock.internal.Failure;

/** The server cannot be reached, or refuses the connection or the password; nothing was done there. */
public final class ConnectionException extends UnavailableException {
    private static final long serialVersionUID = 1;

    ConnectionException(Failure failure) {
        super(failure);
    }
}
