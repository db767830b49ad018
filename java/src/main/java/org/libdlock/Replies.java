package org.libdlock;

import org.libdlock.internal.Failure;

/** What an operation brought, or the exception that it brought instead. */
final class Replies {
    private Replies() {}

    static <T> T of(Object reply, Class<T> type) {
        check(reply);
        return type.cast(reply);
    }

    static void check(Object reply) {
        if (reply instanceof Failure failure) {
            throw Errors.of(failure);
        }
    }

    /** Whether the operation was done; false when it was too late for it. */
    static boolean doneOrBusy(Object reply) {
        if (reply instanceof Failure failure && failure.code() == Kind.BUSY.code()) {
            return false;
        }
        check(reply);
        return true;
    }
}
