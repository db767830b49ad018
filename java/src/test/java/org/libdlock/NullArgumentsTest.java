package org.libdlock;

import static java.util.Map.entry;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.lang.reflect.Parameter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** Every public method that takes no null says which of its parameters was null. */
class NullArgumentsTest {
    private static final Map<Class<?>, Object> VALUES = Map.ofEntries(
            entry(String.class, "value"),
            entry(String[].class, new String[] {"one", "two"}),
            entry(Collection.class, List.of("one", "two")),
            entry(Duration.class, Duration.ofSeconds(1)),
            entry(TimeUnit.class, TimeUnit.SECONDS),
            entry(Options.class, Options.defaults()),
            entry(LockOptions.class, LockOptions.defaults()),
            entry(SemaphoreOptions.class, SemaphoreOptions.defaults()),
            entry(RwLockOptions.class, RwLockOptions.defaults()),
            entry(WorkerOptions.class, WorkerOptions.defaults()),
            entry(QueueOptions.class, QueueOptions.defaults()),
            entry(ConsumerOptions.class, ConsumerOptions.defaults()),
            entry(Backoff.class, Backoff.DEFAULT),
            entry(NewJob.class, NewJob.of("payload")),
            entry(byte[].class, new byte[0]),
            entry(Instant.class, Instant.EPOCH),
            entry(Executor.class, (Executor) Runnable::run),
            entry(JobHandler.class, (JobHandler) job -> {}),
            entry(Rate.class, Rate.of(1, Duration.ofSeconds(1))),
            entry(Algorithm.class, Algorithm.GCRA),
            entry(List.class, List.of(Rate.of(1, Duration.ofSeconds(1)))),
            entry(Absent.class, Absent.FAIL),
            entry(Layout.class, Layout.named("js53")),
            entry(long.class, 1L),
            entry(int.class, 10),
            entry(double.class, 0.5));

    @Test
    void aNullArgumentIsNamed() throws Exception {
        try (Client client = Dlock.connect("memory://")) {
            DistributedLock lock = client.lock("null");
            DistributedQueue queue = client.queue("queue");
            queue.put("job");
            List<Object> objects = List.of(
                    client,
                    lock,
                    client.lock("handle").acquire(),
                    client.semaphore("semaphore", 2),
                    client.semaphore("permits", 2).take(),
                    client.lockAll("all", "of-them"),
                    client.lockAll("handle-of", "all").acquire(),
                    client.countingSemaphore("counting"),
                    client.latch("latch"),
                    client.idGenerator("generator"),
                    client.bloomFilter("filter", 10, 0.1),
                    queue,
                    queue.take(),
                    queue.dead(),
                    client.queue("consumed").consume(Runnable::run, job -> {}),
                    client.worker("numbers"),
                    client.rwLock("rw"),
                    client.rwLock("rw").readLock(),
                    client.rwLock("rw").writeLock().acquire(),
                    client.rateLimiter("null", Rate.of(1, Duration.ofSeconds(1))),
                    Rate.of(1, Duration.ofSeconds(1)),
                    Options.defaults(),
                    new LockDefaults(Options.defaults()),
                    LockOptions.defaults(),
                    SemaphoreOptions.defaults(),
                    RwLockOptions.defaults(),
                    WorkerOptions.defaults(),
                    QueueOptions.defaults(),
                    ConsumerOptions.defaults(),
                    NewJob.of("job"),
                    Snowflake.builder(1, 1));
            List<Class<?>> types = List.of(
                    Dlock.class, Rate.class, Absent.class, Snowflake.class, Layout.class, Options.class, NewJob.class);
            Set<Method> missed = new HashSet<>(methods());
            for (Object object : objects) {
                check(object, Arrays.stream(object.getClass().getMethods()).filter(m -> !isStatic(m)));
                missed.removeIf(m -> !isStatic(m) && m.getDeclaringClass().isInstance(object));
            }
            for (Class<?> type : types) {
                check(null, Arrays.stream(type.getMethods()).filter(NullArgumentsTest::isStatic));
                missed.removeIf(m -> isStatic(m) && m.getDeclaringClass() == type);
            }
            assertThat(missed)
                    .as("methods of classes that are not among those above")
                    .isEmpty();
        }
    }

    /** Every public method of a public class of the package that has a parameter which takes no null. */
    private static Set<Method> methods() throws IOException, ClassNotFoundException {
        List<Class<?>> types = new ArrayList<>();
        Path sources = Path.of(System.getProperty("root"), "java/src/main/java/org/libdlock");
        try (Stream<Path> files = Files.list(sources)) {
            for (Path file : files.filter(Files::isRegularFile).toList()) {
                String name = file.getFileName().toString().replace(".java", "");
                if (!name.contains("-")) {
                    Class<?> type = Class.forName("org.libdlock." + name);
                    types.add(type);
                    types.addAll(List.of(type.getDeclaredClasses()));
                }
            }
        }
        return types.stream()
                // The methods of an enum that take something are the language's.
                .filter(type -> Modifier.isPublic(type.getModifiers()) && !type.isEnum())
                // The user writes them, and libdlock calls.
                .filter(type -> !type.isAnnotationPresent(FunctionalInterface.class))
                .flatMap(type -> Arrays.stream(type.getDeclaredMethods()))
                .filter(method -> Modifier.isPublic(method.getModifiers()) && !method.isSynthetic())
                .filter(method -> !method.getName().equals("equals"))
                .filter(method -> Arrays.stream(method.getParameters()).anyMatch(NullArgumentsTest::takesNoNull))
                .collect(Collectors.toSet());
    }

    private static boolean takesNoNull(Parameter parameter) {
        return !parameter.getType().isPrimitive()
                && !parameter.getAnnotatedType().isAnnotationPresent(Nullable.class);
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
        if (!takesNoNull(parameter)) {
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
