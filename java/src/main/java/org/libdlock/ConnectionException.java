// Written by `python3 api/write.py` from api/errors.json.
package org.libdlock;

import org.libdlock.internal.Failure;

/**
 * The server cannot be reached or did not answer in time, or refuses the connection or the password; what was asked
 * for was not done there, or is undone.
 */
public final class ConnectionException extends UnavailableException {
    private static final long serialVersionUID = 1;

    ConnectionException(Failure failure) {
        super(failure);
    }
}
