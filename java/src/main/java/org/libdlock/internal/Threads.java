package org.libdlock.internal;

import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import org.jspecify.annotations.Nullable;

/** Tells threads that may block in native code from those that would take a carrier out of service. */
public final class Threads {
    /** {@code Thread.isVirtual}, where there is one: from JDK 21 on. */
    private static final @Nullable MethodHandle IS_VIRTUAL = isVirtual();

    private Threads() {}

    /**
     * Whether the calling thread may block for a round trip.
     *
     * @return false for a virtual thread
     */
    public static boolean mayBlock() {
        if (IS_VIRTUAL == null) {
            return true;
        }
        try {
            return !(boolean) IS_VIRTUAL.invokeExact(Thread.currentThread());
        } catch (Throwable impossible) {
            // It only reads. But who cannot be asked is spared.
            return false;
        }
    }

    private static @Nullable MethodHandle isVirtual() {
        try {
            return MethodHandles.lookup().findVirtual(Thread.class, "isVirtual", MethodType.methodType(boolean.class));
        } catch (NoSuchMethodException older) {
            return null;
        } catch (IllegalAccessException hidden) {
            throw new ExceptionInInitializerError(hidden);
        }
    }
}
