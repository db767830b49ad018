package org.libdlock.support;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;

/** For what another process or thread does and announces to nobody. */
public final class Eventually {
    /** Far beyond what even a busy machine takes: it tells of what never happens, and not of what is slow. */
    private static final long WITHIN_SECONDS = 60;

    private Eventually() {}

    public static void holds(String what, BooleanSupplier condition) {
        long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(WITHIN_SECONDS);
        while (!condition.getAsBoolean()) {
            if (System.nanoTime() > deadline) {
                throw new AssertionError("not within " + WITHIN_SECONDS + " s: " + what);
            }
            LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(5));
        }
    }
}
