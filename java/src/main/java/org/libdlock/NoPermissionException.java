// Written by `python3 api/write.py` from api/errors.json.
package org.libdlock;

import org.libdlock.internal.Failure;

/** The server's access list forbids the command, key or channel; the message names the missing rule. */
public final class NoPermissionException extends UnavailableException {
    private static final long serialVersionUID = 1;

    NoPermissionException(Failure failure) {
        super(failure);
    }
}
