// Written by `python3 api/write.py` from api/errors.json.
package org.libdlock;

import org.libdlock.internal.Failure;

/** The queue holds as many jobs as it may; nothing was put. */
public final class QueueFullException extends UnavailableException {
    private static final long serialVersionUID = 1;

    QueueFullException(Failure failure) {
        super(failure);
    }
}
