package org.libdlock.internal;

/** Who waits for an operation. */
interface Pending {
    /**
     * What came of it, once, on the thread that drains the port: must not block or run anything of the user's.
     *
     * @param reply what {@link Wire} read
     */
    void done(Object reply);
}
