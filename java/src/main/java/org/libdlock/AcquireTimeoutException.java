// Written by `python3 api/write.py` from api/errors.json.
package org.libdlock;

import org.libdlock.internal.Failure;

/**
 * {@code acquire} or {@code lockAsync} did not get it within its wait; {@code tryLock} and {@code tryAcquire} return
 * {@code false} instead.
 */
public final class AcquireTimeoutException extends DlockException {
    private static final long serialVersionUID = 1;

    AcquireTimeoutException(Failure failure) {
        super(failure);
    }
}
