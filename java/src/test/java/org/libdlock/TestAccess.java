package org.libdlock;

import java.lang.reflect.Field;

/** To what the interface hides. */
final class TestAccess {
    private TestAccess() {}

    static long handle(Object of) {
        try {
            Field handle = of.getClass().getDeclaredField("handle");
            handle.setAccessible(true);
            return handle.getLong(of);
        } catch (ReflectiveOperationException e) {
            throw new LinkageError("a field is gone", e);
        }
    }
}
