package org.libdlock.spring;

import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.time.Duration;
import java.util.Arrays;
import java.util.LinkedHashSet;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Flow;
import java.util.concurrent.Future;
import java.util.function.UnaryOperator;
import org.aopalliance.intercept.MethodInvocation;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.convert.DurationStyle;
import org.springframework.context.expression.MethodBasedEvaluationContext;
import org.springframework.core.DefaultParameterNameDiscoverer;
import org.springframework.core.KotlinDetector;
import org.springframework.core.ParameterNameDiscoverer;
import org.springframework.core.ReactiveAdapterRegistry;
import org.springframework.expression.BeanResolver;
import org.springframework.expression.EvaluationContext;

/** A method with an annotation of this package, and what the attributes of the annotation say. */
final class Annotated {
    private static final ParameterNameDiscoverer NAMES = new DefaultParameterNameDiscoverer();

    private final String annotation;
    private final Method method;
    private final UnaryOperator<String> placeholders;

    Annotated(String annotation, Method method, UnaryOperator<String> placeholders) {
        this.annotation = annotation;
        this.method = method;
        this.placeholders = placeholders;
    }

    /** An attribute, as an error calls it. */
    private String where(String attribute) {
        return attribute + " of " + annotation + " on " + Expression.nameOf(method);
    }

    LibdlockConfigurationException wrong(String what, String action) {
        return new LibdlockConfigurationException(annotation + " on " + Expression.nameOf(method) + " " + what, action);
    }

    String nonEmpty(String attribute, String value) {
        String text = placeholders.apply(value);
        if (text.isEmpty()) {
            throw new LibdlockConfigurationException(where(attribute) + " is empty", "Give a name.");
        }
        return text;
    }

    @Nullable
    Duration duration(String attribute, String value) {
        String text = placeholders.apply(value);
        if (text.isEmpty()) {
            return null;
        }
        try {
            Duration duration = DurationStyle.detectAndParse(text);
            if (!duration.isNegative()) {
                return duration;
            }
        } catch (IllegalArgumentException wrong) {
            // Said below.
        }
        throw new LibdlockConfigurationException(
                where(attribute) + " is \"" + text + "\", which is no duration",
                "Write a duration such as 500ms, 10s or PT1M.");
    }

    @Nullable
    Expression expression(String attribute, String text) {
        return text.isEmpty() ? null : Expression.parse(where(attribute), text, variables());
    }

    Expression required(String attribute, String text) {
        return Expression.parse(where(attribute), text, variables());
    }

    private Set<String> variables() {
        Set<String> names = new LinkedHashSet<>();
        String[] found = NAMES.getParameterNames(method);
        for (int at = 0; at < method.getParameterCount(); at++) {
            if (found != null) {
                names.add(found[at]);
            }
            names.add("p" + at);
            names.add("a" + at);
        }
        return names;
    }

    /** What the expressions of a call see. */
    EvaluationContext context(MethodInvocation call, BeanResolver beans) {
        Object target = call.getThis();
        MethodBasedEvaluationContext context =
                new MethodBasedEvaluationContext(target == null ? call : target, method, call.getArguments(), NAMES);
        context.setBeanResolver(beans);
        return context;
    }

    /** Whether callers have to expect such an exception. */
    boolean declares(Class<? extends Exception> thrown) {
        return Arrays.stream(method.getExceptionTypes()).anyMatch(declared -> declared.isAssignableFrom(thrown));
    }

    /** Whether it ends when a stage that it returns does. */
    boolean returnsStage() {
        return CompletionStage.class.isAssignableFrom(method.getReturnType());
    }

    /** Refuses methods whose calls cannot be intercepted. */
    void checkInterceptable() {
        String modifier = Modifier.isPrivate(method.getModifiers())
                ? "private"
                : Modifier.isStatic(method.getModifiers())
                        ? "static"
                        : Modifier.isFinal(method.getModifiers()) ? "final" : null;
        if (modifier != null) {
            throw wrong(
                    "has no effect: the method is " + modifier + ", so that no proxy sees its calls",
                    "Make it a method that is not " + modifier + ".");
        }
    }

    /** Refuses methods whose work goes on after they have returned, in a way that nobody here can see the end of. */
    void checkReturnType() {
        if (returnsStage() && !method.getReturnType().isAssignableFrom(CompletableFuture.class)) {
            throw wrong(
                    "is not possible: the method returns "
                            + method.getReturnType().getName()
                            + ", and a CompletableFuture that ends after the release cannot take its place",
                    "Return a CompletableFuture or a CompletionStage.");
        }
        boolean isSuspending = KotlinDetector.isSuspendingFunction(method);
        if (isSuspending || isUnseen(method.getReturnType())) {
            String what = isSuspending
                    ? "suspends"
                    : "returns " + method.getReturnType().getName();
            throw wrong(
                    "is not possible: the method " + what + ", and when that ends is not known",
                    "Return a value, or a CompletableFuture; or acquire the lock in the method, with lockAsync().");
        }
    }

    /** Refuses a result whose work goes on, of a method that says only that it returns an object. */
    void checkEnded(@Nullable Object result) {
        if (result == null) {
            return;
        }
        boolean goesOn = result instanceof Future<?> future
                ? !future.isDone()
                : result instanceof CompletionStage || isUnseen(result.getClass());
        if (goesOn) {
            throw new IllegalStateException("the method " + Expression.nameOf(method) + " with " + annotation
                    + " returned an object of the type " + result.getClass().getName()
                    + ", whose work the lock does not protect, because it was released; declare the type that the method"
                    + " returns: CompletableFuture is possible");
        }
    }

    private boolean isUnseen(Class<?> type) {
        if (CompletionStage.class.isAssignableFrom(type)) {
            return false;
        }
        return Future.class.isAssignableFrom(type)
                || Flow.Publisher.class.isAssignableFrom(type)
                || ReactiveAdapterRegistry.getSharedInstance().getAdapter(type) != null;
    }
}
