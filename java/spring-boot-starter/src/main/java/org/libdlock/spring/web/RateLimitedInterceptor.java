package org.libdlock.spring.web;

import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.lang.reflect.AnnotatedElement;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.UnaryOperator;
import org.libdlock.RateLimiter;
import org.libdlock.spring.RateLimited;
import org.libdlock.spring.RateLimiters;
import org.libdlock.spring.RateLimits;
import org.springframework.core.annotation.AnnotatedElementUtils;
import org.springframework.expression.BeanResolver;
import org.springframework.web.method.HandlerMethod;
import org.springframework.web.servlet.HandlerInterceptor;

/** Limits the requests of handlers with {@link RateLimited}. */
public final class RateLimitedInterceptor implements HandlerInterceptor {
    private final RateLimiters limiters;
    private final UnaryOperator<String> placeholders;
    private final BeanResolver beans;
    private final RefusalHandler refusals;
    private final Map<HandlerMethod, List<LimitedHandler>> known = new ConcurrentHashMap<>();
    private final Map<RateLimiter, HttpLimit> limits = new ConcurrentHashMap<>();

    /**
     * For an application.
     *
     * @param limiters its limiters
     * @param placeholders replaces placeholders
     * @param beans finds the beans that expressions name
     * @param refusals answers refused requests; {@code null} for problems of RFC 9457
     */
    public RateLimitedInterceptor(
            RateLimiters limiters,
            UnaryOperator<String> placeholders,
            BeanResolver beans,
            @org.jspecify.annotations.Nullable RefusalHandler refusals) {
        this.limiters = limiters;
        this.placeholders = placeholders;
        this.beans = beans;
        this.refusals = refusals == null ? HttpLimit::problem : refusals;
    }

    /**
     * Reads the annotations of a handler, so that what is wrong with them is said when the application starts.
     *
     * @param handler a method of a controller
     */
    public void check(HandlerMethod handler) {
        of(handler);
    }

    /** Asks the limiters of the handler one after the other, until one refuses. */
    @Override
    public boolean preHandle(HttpServletRequest request, HttpServletResponse response, Object handler)
            throws Exception {
        if (!(handler instanceof HandlerMethod method) || !RateLimitInterceptor.isRequest(request)) {
            return true;
        }
        for (LimitedHandler limited : of(method)) {
            if (!limited.passes(request, response, this::limit, beans)) {
                return false;
            }
        }
        return true;
    }

    private HttpLimit limit(String name) {
        RateLimiter limiter = limiters.get(name);
        return limits.computeIfAbsent(limiter, one -> new HttpLimit(one, one.name(), refusals));
    }

    private List<LimitedHandler> of(HandlerMethod handler) {
        // A handler is found anew for each request, and equal to what it was.
        return known.computeIfAbsent(
                handler.getResolvedFromHandlerMethod() == null ? handler : handler.getResolvedFromHandlerMethod(),
                this::read);
    }

    private List<LimitedHandler> read(HandlerMethod handler) {
        List<LimitedHandler> found = new ArrayList<>();
        List<AnnotatedElement> elements = List.of(handler.getBeanType(), handler.getMethod());
        for (AnnotatedElement element : elements) {
            for (RateLimited limited : AnnotatedElementUtils.findMergedRepeatableAnnotations(
                    element, RateLimited.class, RateLimits.class)) {
                found.add(new LimitedHandler(limited, element, handler, placeholders));
            }
        }
        return List.copyOf(found);
    }
}
