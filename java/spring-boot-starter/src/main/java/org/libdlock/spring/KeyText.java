package org.libdlock.spring;

import java.lang.reflect.RecordComponent;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.EnumMap;
import java.util.EnumSet;
import java.util.IdentityHashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.SortedMap;
import java.util.SortedSet;
import org.jspecify.annotations.Nullable;
import org.springframework.util.ClassUtils;
import org.springframework.util.ReflectionUtils;

/** The text of an object that names a lock or a bucket: equal objects have to have the same one, in every process. */
final class KeyText {
    /** Whether objects of a class have another text than that of {@link Object#toString}. */
    private static final ClassValue<Boolean> HAS_TEXT = new ClassValue<>() {
        @Override
        protected Boolean computeValue(Class<?> type) {
            return ClassUtils.getMethod(type, "toString").getDeclaringClass() != Object.class;
        }
    };

    private final String text;

    /** The objects that were looked at: a collection may have itself in it. */
    private final Set<Object> seen = Collections.newSetFromMap(new IdentityHashMap<>());

    private KeyText(String text) {
        this.text = text;
    }

    /**
     * The text of an object.
     *
     * @throws IllegalArgumentException says why the text of this one differs from that of an equal one
     */
    static String of(Object value) {
        String text = String.valueOf(value);
        String wrong = new KeyText(text).wrong(value);
        if (wrong != null) {
            throw new IllegalArgumentException(wrong);
        }
        return text;
    }

    private @Nullable String wrong(@Nullable Object value) {
        if (value == null || !seen.add(value)) {
            return null;
        }
        Class<?> type = value.getClass();
        if (!HAS_TEXT.get(type)) {
            return text.contains(value.toString())
                    ? "an object of the type " + type.getTypeName()
                            + ", which does not override toString; use something of it that identifies it, such as its id"
                    : null;
        }
        if (hasNoOrder(value)) {
            return "a " + type.getTypeName()
                    + ", whose order, and with it its text, may be another in each process; use a sorted one, or a list";
        }
        for (Object part : parts(value)) {
            String wrong = wrong(part);
            if (wrong != null) {
                return wrong;
            }
        }
        return null;
    }

    private static boolean hasNoOrder(Object value) {
        if (value instanceof Set<?> set) {
            return set.size() > 1
                    && !(set instanceof SortedSet || set instanceof LinkedHashSet || set instanceof EnumSet);
        }
        return value instanceof Map<?, ?> map
                && map.size() > 1
                && !(map instanceof SortedMap || map instanceof LinkedHashMap || map instanceof EnumMap);
    }

    /** The objects of which its text is made. */
    private static Collection<?> parts(Object value) {
        if (value instanceof Collection<?> collection) {
            return collection;
        }
        if (value instanceof Map<?, ?> map) {
            List<@Nullable Object> parts = new ArrayList<>(map.keySet());
            parts.addAll(map.values());
            return parts;
        }
        if (value instanceof Map.Entry<?, ?> entry) {
            List<@Nullable Object> parts = new ArrayList<>();
            parts.add(entry.getKey());
            parts.add(entry.getValue());
            return parts;
        }
        if (value instanceof Optional<?> optional) {
            return optional.stream().toList();
        }
        return value instanceof Record ? components(value) : List.of();
    }

    private static Collection<?> components(Object value) {
        List<@Nullable Object> components = new ArrayList<>();
        for (RecordComponent component : value.getClass().getRecordComponents()) {
            if (!component.getType().isPrimitive() && component.getAccessor().trySetAccessible()) {
                components.add(ReflectionUtils.invokeMethod(component.getAccessor(), value));
            }
        }
        return components;
    }
}
