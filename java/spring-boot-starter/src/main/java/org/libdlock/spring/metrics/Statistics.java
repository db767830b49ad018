package org.libdlock.spring.metrics;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.RecordComponent;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.libdlock.Histogram;
import org.libdlock.Stats;

/** The statistics of a client one by one. */
final class Statistics {
    /** The components of all blocks that go down again. */
    private static final Set<String> GAUGES = Set.of("waiting", "held");

    /** As {@code dlock serve} says them, where that is not the component in its own case. */
    private static final Map<String, String> KINDS = Map.of("limiter", "rate-limiter");

    static final List<Statistic> ALL = all();

    private Statistics() {}

    /** How often something happened, how much of it there is now, or how long it took. */
    enum Type {
        COUNTER,
        GAUGE,
        TIME
    }

    /**
     * One statistic.
     *
     * @param kind of object that it is about; null for the client
     * @param name in Micrometer's spelling
     * @param path the accessors that lead to it
     */
    record Statistic(@Nullable String kind, String name, String description, Type type, List<Method> path) {
        long count(Stats stats) {
            return (Long) read(stats);
        }

        Histogram time(Stats stats) {
            return (Histogram) read(stats);
        }

        private Object read(Object value) {
            try {
                for (Method accessor : path) {
                    value = accessor.invoke(value);
                }
                return value;
            } catch (IllegalAccessException | InvocationTargetException impossible) {
                throw new IllegalStateException("the statistic " + name + " cannot be read", impossible);
            }
        }
    }

    private static List<Statistic> all() {
        List<Statistic> found = new ArrayList<>();
        for (RecordComponent block : Stats.class.getRecordComponents()) {
            if (block.getType() == long.class) {
                found.add(statistic(null, block, List.of(block.getAccessor())));
                continue;
            }
            String kind = KINDS.getOrDefault(block.getName(), separated(block.getName(), '-'));
            for (RecordComponent each : block.getType().getRecordComponents()) {
                found.add(statistic(kind, each, List.of(block.getAccessor(), each.getAccessor())));
            }
        }
        return List.copyOf(found);
    }

    private static Statistic statistic(@Nullable String kind, RecordComponent of, List<Method> path) {
        String description = Descriptions.OF.getOrDefault(of.getName(), of.getName());
        Type type =
                of.getType() == Histogram.class ? Type.TIME : GAUGES.contains(of.getName()) ? Type.GAUGE : Type.COUNTER;
        String words = separated(type == Type.TIME ? of.getName().replace("Time", "") : of.getName(), '.');
        return new Statistic(kind, "dlock.client." + words, description, type, path);
    }

    private static String separated(String camel, char separator) {
        return camel.replaceAll("([A-Z])", separator + "$1").toLowerCase(Locale.ROOT);
    }
}
