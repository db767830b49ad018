// Written by `python3 api/write.py` from api/errors.json.
package org.libdlock;

import org.libdlock.internal.Failure;

/** The server answered with an error that has no kind of its own. */
public final class ServerException extends UnavailableException {
    private static final long serialVersionUID = 1;

    ServerException(Failure failure) {
        super(failure);
    }
}
