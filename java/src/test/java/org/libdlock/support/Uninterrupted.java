package org.libdlock.support;

import java.util.concurrent.Callable;

/** For waits in tests that nobody interrupts. */
public final class Uninterrupted {
    private Uninterrupted() {}

    public static <T> T run(Callable<T> waiting) {
        try {
            return waiting.call();
        } catch (Exception e) {
            throw new AssertionError(e);
        }
    }
}
