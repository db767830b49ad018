package org.libdlock.internal;

import org.jspecify.annotations.Nullable;

/** What libdlock has to say in the background, to the {@link System.Logger} {@code org.libdlock}. */
final class Log {
    private Log() {}

    private static System.Logger logger() {
        return System.getLogger("org.libdlock");
    }

    /** An event of the core. */
    static void event(String level, @Nullable String object, String message) {
        System.Logger.Level severity =
                switch (level) {
                    case "debug" -> System.Logger.Level.DEBUG;
                    case "info" -> System.Logger.Level.INFO;
                    case "warn" -> System.Logger.Level.WARNING;
                    default -> System.Logger.Level.ERROR;
                };
        // As one message without parameters: braces in a name are no format.
        logger().log(severity, object == null ? message : "\"" + object + "\": " + message);
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
            // The logger is the user's, or there is no memory. There is nobody left to tell.
            return;
        }
    }
}
