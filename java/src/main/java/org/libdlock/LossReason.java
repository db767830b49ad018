package org.libdlock;

import java.util.Locale;

/** Why a hold was lost. */
public enum LossReason {
    // <api:losses> written by `python3 api/write.py` from api/losses.json
    /** The lease ran out: it was given and is over, or the server could not be reached to renew it. */
    EXPIRED,
    /** Another holder has it now. */
    TAKEN,
    /** The key is gone: deleted, flushed or force-released. */
    DELETED,
    /** The key is gone, and so is the server that had it: a restart or a failover. */
    SERVER_CHANGED,
    /**
     * The client was closed, or the holder went away without a release; what it held was released, or its lease runs
     * out.
     */
    CLOSED,
    /** A defect in libdlock ended the renewals. */
    INTERNAL;
    // </api:losses>

    static LossReason of(String word) {
        return valueOf(word.toUpperCase(Locale.ROOT));
    }
}
