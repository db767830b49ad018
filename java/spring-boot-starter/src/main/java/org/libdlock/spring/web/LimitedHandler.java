package org.libdlock.spring.web;

import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.lang.reflect.AnnotatedElement;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Function;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;
import org.libdlock.spring.Expression;
import org.libdlock.spring.LibdlockConfigurationException;
import org.libdlock.spring.RateLimited;
import org.springframework.expression.BeanResolver;
import org.springframework.expression.spel.support.StandardEvaluationContext;
import org.springframework.web.method.HandlerMethod;
import org.springframework.web.servlet.HandlerMapping;

/** A handler of a controller, and one of its {@link RateLimited}. */
final class LimitedHandler {
    private final String name;
    private final @Nullable Expression key;
    private final Expression cost;
    private final @Nullable Expression skip;

    LimitedHandler(
            RateLimited limited, AnnotatedElement element, HandlerMethod handler, UnaryOperator<String> placeholders) {
        String on = " of @RateLimited on "
                + (element instanceof Class<?> type ? type.getSimpleName() : Expression.nameOf(handler.getMethod()));
        name = placeholders.apply(limited.value());
        key = parsed("key" + on, limited.key());
        cost = Expression.parse("cost" + on, limited.cost(), null);
        skip = parsed("skip" + on, limited.skip());
        if (name.isEmpty()) {
            throw new LibdlockConfigurationException("value" + on + " is empty", "Give the name of a limiter.");
        }
        if (!limited.waitTime().isEmpty()) {
            throw new LibdlockConfigurationException(
                    "waitTime" + on + " is set: requests do not wait, because the threads that serve them are few",
                    "Leave waitTime out; or put the annotation on a method of another bean, which the handler calls.");
        }
    }

    private static @Nullable Expression parsed(String where, String text) {
        return text.isEmpty() ? null : Expression.parse(where, text, null);
    }

    /** The limiter's name. */
    String name() {
        return name;
    }

    /** Whether the request may go on; otherwise it has been answered. */
    boolean passes(
            HttpServletRequest request,
            HttpServletResponse response,
            Function<String, HttpLimit> limits,
            BeanResolver beans)
            throws IOException {
        StandardEvaluationContext context = new OfRequest(request);
        context.setBeanResolver(beans);
        if (skip != null && skip.isTrue(context)) {
            return true;
        }
        String whose = key == null ? ClientAddress.key(request.getRemoteAddr()) : key.text(context);
        return limits.apply(name).passes(request, response, whose, cost.number(context));
    }

    /** What expressions see of a request. A variable that is none is an error, because a key of null would be everybody's. */
    private static final class OfRequest extends StandardEvaluationContext {
        private final Map<String, @Nullable Object> variables = new TreeMap<>();

        OfRequest(HttpServletRequest request) {
            super(request);
            if (request.getAttribute(HandlerMapping.URI_TEMPLATE_VARIABLES_ATTRIBUTE) instanceof Map<?, ?> path) {
                path.forEach((variable, value) -> variables.put(variable.toString(), value));
            }
            variables.put("request", request);
        }

        @Override
        public @Nullable Object lookupVariable(String name) {
            if (!variables.containsKey(name)) {
                throw new IllegalStateException("an expression of @RateLimited uses #" + name
                        + ", and there is no such variable of the path; there are " + variables.keySet());
            }
            return variables.get(name);
        }
    }
}
