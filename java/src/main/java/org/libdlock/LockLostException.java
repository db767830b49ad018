// Written by `python3 api/write.py` from api/errors.json.
package org.libdlock;

import org.libdlock.internal.Failure;

/**
 * What was held was lost: its lease ran out, or it was taken away; also thrown by the first acquire after a loss of
 * which the thread has not heard.
 */
public final class LockLostException extends HoldEndedException {
    private static final long serialVersionUID = 1;

    LockLostException(Failure failure) {
        super(failure);
    }
}
