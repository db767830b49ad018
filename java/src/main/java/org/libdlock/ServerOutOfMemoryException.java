// Written by `python3 api/write.py` from api/errors.json.
package org.libdlock;

import org.libdlock.internal.Failure;

/** The server is at its memory limit and refused to write. */
public final class ServerOutOfMemoryException extends UnavailableException {
    private static final long serialVersionUID = 1;

    ServerOutOfMemoryException(Failure failure) {
        super(failure);
    }
}
