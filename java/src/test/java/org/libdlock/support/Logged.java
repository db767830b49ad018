package org.libdlock.support;

import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.logging.Handler;
import java.util.logging.Level;
import java.util.logging.LogRecord;
import java.util.logging.Logger;

/** Collects what is logged by the logger {@code org.libdlock}, which is java.util.logging's in these tests. */
public final class Logged implements AutoCloseable {
    private static final Logger LOGGER = Logger.getLogger("org.libdlock");

    private final Queue<LogRecord> records = new ConcurrentLinkedQueue<>();
    private final Handler handler = new Handler() {
        @Override
        public void publish(LogRecord record) {
            records.add(record);
        }

        @Override
        public void flush() {}

        @Override
        public void close() {}
    };

    /** What tests provoke is not for the eyes of those who run them. */
    public static void quiet() {
        LOGGER.setUseParentHandlers(false);
    }

    private final boolean wasLoud = LOGGER.getUseParentHandlers();

    public Logged() {
        quiet();
        LOGGER.addHandler(handler);
    }

    public boolean warned(String part) {
        return records.stream()
                .anyMatch(record -> record.getLevel().equals(Level.WARNING)
                        && record.getMessage().contains(part));
    }

    public void awaitWarning(String part) {
        Eventually.holds("a warning with " + part, () -> warned(part));
    }

    /** Other tests of this JVM may look at what is printed. */
    @Override
    public void close() {
        LOGGER.removeHandler(handler);
        LOGGER.setUseParentHandlers(wasLoud);
    }
}
