package org.libdlock;

import static org.assertj.core.api.Assertions.assertThat;

import java.lang.reflect.Array;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.libdlock.internal.Library;
import org.libdlock.internal.Native;
import org.libdlock.support.Jvm;

/** With a library that panics on demand, every export turns the panic into an exception. */
@Tag("panic")
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

    private static final ExecutorService POOL = Executors.newFixedThreadPool(3);

    /** Output of the JVM that called each export; all were started before the first test, to run beside one another. */
    private static final Map<String, Future<String>> SAID = new HashMap<>();

    @BeforeAll
    static void callEach() {
        exports().map(Method::getName).forEach(name -> SAID.computeIfAbsent(name, key -> POOL.submit(() -> said(key))));
    }

    @AfterAll
    static void stop() {
        POOL.shutdownNow();
    }

    private static String said(String name) {
        try (Jvm jvm = Jvm.with().environment("DLOCK_PANIC", name).start(Calling.class, name)) {
            return jvm.end();
        }
    }

    @ParameterizedTest
    @MethodSource("exports")
    void aPanicIsAnInternalException(Method export) throws Exception {
        String name = export.getName();
        Future<String> said = Objects.requireNonNull(SAID.get(name));
        assertThat(said.get()).startsWith("INTERNAL " + name).contains("DLOCK_PANIC=" + name);
    }
}
