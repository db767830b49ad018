package org.libdlock;

import static org.assertj.core.api.Assertions.assertThat;

import java.lang.reflect.Array;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.Arrays;
import java.util.Objects;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.libdlock.internal.Library;
import org.libdlock.internal.Native;
import org.libdlock.support.Jvm;

/** With a library that panics on demand, every export turns the panic into an exception. */
@Tag("panic")
@Execution(ExecutionMode.CONCURRENT)
class PanicTest {
    /** Calls the export that it is told, and says what it threw. */
    static final class Calling {
        public static void main(String[] args) throws Exception {
            Library.load();
            Method export = exports()
                    .filter(method -> method.getName().equals(args[0]))
                    .findFirst()
                    .orElseThrow();
            export.setAccessible(true);
            Object[] zeros =
                    Arrays.stream(export.getParameterTypes()).map(Calling::zero).toArray();
            try {
                export.invoke(null, zeros);
            } catch (InvocationTargetException thrown) {
                RuntimeException cause = (RuntimeException) Objects.requireNonNull(thrown.getCause());
                DlockError error = (DlockError) cause;
                System.out.println(error.kind() + " " + error.op() + " " + cause.getMessage());
            }
        }

        private static Object zero(Class<?> type) {
            if (type == int.class) {
                return 0;
            }
            if (type == boolean.class) {
                return false;
            }
            if (type.isArray()) {
                return Array.newInstance(type.componentType(), 0);
            }
            return 0L;
        }
    }

    static Stream<Method> exports() {
        return Arrays.stream(Native.class.getDeclaredMethods())
                .filter(method -> Modifier.isNative(method.getModifiers()));
    }

    @ParameterizedTest
    @MethodSource("exports")
    void aPanicIsAnInternalException(Method export) {
        String name = export.getName();
        try (Jvm jvm = Jvm.with().environment("DLOCK_PANIC", name).start(Calling.class, name)) {
            assertThat(jvm.end()).startsWith("INTERNAL " + name).contains("DLOCK_PANIC=" + name);
        }
    }
}
