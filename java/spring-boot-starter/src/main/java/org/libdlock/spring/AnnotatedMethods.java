package org.libdlock.spring;

import java.lang.reflect.AnnotatedElement;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.BiPredicate;
import java.util.function.UnaryOperator;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.springframework.aop.support.AopUtils;
import org.springframework.core.MethodClassKey;
import org.springframework.core.MethodIntrospector;
import org.springframework.core.annotation.AnnotatedElementUtils;
import org.springframework.core.annotation.AnnotationUtils;

/** Which methods have annotations of this package, and what those say; read once for each method. */
final class AnnotatedMethods {
    /** What a method has. */
    record Found(List<RateLimitedMethod> limits, @Nullable LockedMethod locked) {
        boolean isEmpty() {
            return limits.isEmpty() && locked == null;
        }
    }

    private static final Found NOTHING = new Found(List.of(), null);

    private final UnaryOperator<String> placeholders;
    private final BiPredicate<Class<?>, Method> isHandler;
    private final Map<MethodClassKey, Found> known = new ConcurrentHashMap<>();

    AnnotatedMethods(UnaryOperator<String> placeholders, BiPredicate<Class<?>, Method> isHandler) {
        this.placeholders = placeholders;
        this.isHandler = isHandler;
    }

    /** Of a method that is called on an object of this class. */
    Found of(Method method, Class<?> type) {
        return known.computeIfAbsent(
                new MethodClassKey(method, type), key -> read(AopUtils.getMostSpecificMethod(method, type), type));
    }

    /** Whether any method of a class has one; an annotation that says what is not possible is an error. */
    boolean anyOf(Class<?> type) {
        if (!AnnotationUtils.isCandidateClass(type, Set.of(Locked.class, RateLimited.class, RateLimits.class))) {
            return false;
        }
        if (isLimited(type) && Arrays.stream(type.getMethods()).noneMatch(method -> isHandler.test(type, method))) {
            throw new LibdlockConfigurationException(
                    "@RateLimited on the class " + type.getName() + " has no effect: no method of it handles requests",
                    "Put the annotation on the methods.");
        }
        Map<Method, Boolean> annotated = MethodIntrospector.selectMethods(
                type, (MethodIntrospector.MetadataLookup<Boolean>) method -> isAnnotated(method) ? true : null);
        boolean any = false;
        for (Method method : annotated.keySet()) {
            any |= !of(method, type).isEmpty();
        }
        return any;
    }

    private static boolean isAnnotated(Method method) {
        return AnnotatedElementUtils.hasAnnotation(method, Locked.class) || isLimited(method);
    }

    private static boolean isLimited(AnnotatedElement element) {
        return AnnotatedElementUtils.hasAnnotation(element, RateLimited.class)
                || AnnotatedElementUtils.hasAnnotation(element, RateLimits.class);
    }

    /** The limiters that the annotations name which were read until now. */
    Set<String> limiterNames() {
        return known.values().stream()
                .flatMap(found -> found.limits().stream())
                .map(RateLimitedMethod::name)
                .collect(Collectors.toCollection(TreeSet::new));
    }

    private Found read(Method method, Class<?> type) {
        Locked locked = AnnotatedElementUtils.findMergedAnnotation(method, Locked.class);
        List<RateLimitedMethod> limits = new ArrayList<>();
        if (!isHandler.test(type, method)) {
            for (RateLimited limited : AnnotatedElementUtils.findMergedRepeatableAnnotations(
                    method, RateLimited.class, RateLimits.class)) {
                limits.add(new RateLimitedMethod(method, limited, placeholders));
            }
        }
        return locked == null && limits.isEmpty()
                ? NOTHING
                : new Found(
                        List.copyOf(limits), locked == null ? null : new LockedMethod(method, locked, placeholders));
    }
}
