package org.libdlock;

import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.libdlock.internal.Failure;

/** What an operation brought, or the exception that it brought instead. */
final class Replies {
    /** For the future of an operation that brings nothing. */
    static final Function<Object, @Nullable Void> NOTHING = new Function<Object, @Nullable Void>() {
        @Override
        public @Nullable Void apply(Object reply) {
            check(reply);
            return null;
        }
    };

    private Replies() {}

    /** For the future of an operation. */
    static <T> Function<Object, T> to(Class<T> type) {
        return reply -> of(reply, type);
    }

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
