package org.libdlock;

import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.lang.reflect.Parameter;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** Every public method that takes no null says which of its parameters was null. */
class NullArgumentsTest {
    private static final Map<Class<?>, Object> VALUES = Map.of(
            String.class,
            "value",
            Duration.class,
            Duration.ofSeconds(1),
            TimeUnit.class,
            TimeUnit.SECONDS,
            Options.class,
            Options.defaults(),
            LockOptions.class,
            LockOptions.defaults(),
            Rate.class,
            Rate.of(1, Duration.ofSeconds(1)),
            Absent.class,
            Absent.FAIL,
            Layout.class,
            Layout.named("js53"),
            long.class,
            1L,
            int.class,
            10);

    @Test
    void aNullArgumentIsNamed() throws Exception {
        try (Client client = Dlock.connect("memory://")) {
            DistributedLock lock = client.lock("null");
            List<Object> objects = List.of(
                    client,
                    lock,
                    client.lock("handle").acquire(),
                    client.rateLimiter("null", Rate.of(1, Duration.ofSeconds(1))),
                    Options.defaults(),
                    new LockDefaults(Options.defaults()),
                    LockOptions.defaults(),
                    Snowflake.builder(1, 1));
            for (Object object : objects) {
                check(object, Arrays.stream(object.getClass().getMethods()).filter(m -> !isStatic(m)));
            }
            for (Class<?> type :
                    List.of(Dlock.class, Rate.class, Absent.class, Snowflake.class, Layout.class, Options.class)) {
                check(null, Arrays.stream(type.getMethods()).filter(NullArgumentsTest::isStatic));
            }
        }
    }

    private static boolean isStatic(Method method) {
        return Modifier.isStatic(method.getModifiers());
    }

    private static void check(@Nullable Object object, Stream<Method> methods) {
        methods.filter(method -> method.getDeclaringClass().getName().startsWith("org.libdlock"))
                .filter(method -> !method.getName().equals("equals"))
                .forEach(method -> {
                    for (int i = 0; i < method.getParameterCount(); i++) {
                        check(object, method, i);
                    }
                });
    }

    private static void check(@Nullable Object object, Method method, int nullAt) {
        Parameter parameter = method.getParameters()[nullAt];
        if (parameter.getType().isPrimitive() || parameter.getAnnotatedType().isAnnotationPresent(Nullable.class)) {
            return;
        }
        @Nullable
        Object[] arguments =
                Arrays.stream(method.getParameterTypes()).map(VALUES::get).toArray();
        arguments[nullAt] = null;
        assertThatThrownBy(() -> {
                    try {
                        method.invoke(object, arguments);
                    } catch (InvocationTargetException thrown) {
                        throw thrown.getCause();
                    }
                })
                .as("%s with %s null", method, parameter.getName())
                .isInstanceOf(NullPointerException.class)
                .hasMessage(parameter.getName() + " is null");
    }
}
