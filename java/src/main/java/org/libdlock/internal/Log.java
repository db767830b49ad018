package org.libdlock.internal;

import org.jspecify.annotations.Nullable;

/** What libdlock has to say in the background, to the {@link System.Logger} {@code org.libdlock}. */
final class Log {
    private static final System.Logger.Level[] LEVELS = {
        System.Logger.Level.DEBUG, System.Logger.Level.INFO, System.Logger.Level.WARNING, System.Logger.Level.ERROR
    };

    private Log() {}

    private static System.Logger logger() {
        return System.getLogger("org.libdlock");
    }

    /** An event of the core. */
    static void event(int level, @Nullable String object, String message) {
        // As one parameterless message: braces in a name are no format.
        logger().log(LEVELS[level], object == null ? message : "lock \"" + object + "\": " + message);
    }

    /** For those who look for a fault in libdlock itself. */
    static void debug(String what, Throwable error) {
        logger().log(System.Logger.Level.DEBUG, what, error);
    }

    /** Something that must not stop anything else. */
    static void failed(String what, Throwable error) {
        try {
            logger().log(System.Logger.Level.ERROR, what, error);
        } catch (Throwable again) {
            // The logger is the user's. There is nobody left to tell.
            error.addSuppressed(again);
        }
    }
}
