package org.libdlock.spring.web;

import jakarta.servlet.DispatcherType;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Function;
import java.util.function.Predicate;
import java.util.function.ToLongFunction;
import org.jspecify.annotations.Nullable;
import org.libdlock.RateLimiter;
import org.springframework.web.servlet.HandlerInterceptor;

/**
 * Limits the requests of the paths for which it is registered.
 *
 * <pre>{@code
 * public void addInterceptors(InterceptorRegistry registry) {
 *     registry.addInterceptor(new RateLimitInterceptor(limiter).key(request -> request.getHeader("X-User")))
 *             .addPathPatterns("/api/**");
 * }
 * }</pre>
 *
 * <p>{@code docs/http.md} says what is answered. Immutable: each method returns a changed copy.
 */
public final class RateLimitInterceptor implements HandlerInterceptor {
    private static final AtomicLong NUMBERS = new AtomicLong();

    private final HttpLimit limit;
    private final RateLimiter limiter;
    private final String name;
    private final Function<HttpServletRequest, @Nullable String> key;
    private final ToLongFunction<HttpServletRequest> cost;
    private final Predicate<HttpServletRequest> skip;
    private final RefusalHandler refusals;

    /** The attribute of requests that were counted. */
    private final String counted = RateLimitInterceptor.class.getName() + "." + NUMBERS.incrementAndGet();

    /**
     * Each client address has its own tokens, and a request costs one.
     *
     * @param limiter who is asked
     */
    public RateLimitInterceptor(RateLimiter limiter) {
        this(
                Objects.requireNonNull(limiter, "limiter"),
                limiter.name(),
                request -> ClientAddress.key(request.getRemoteAddr()),
                request -> 1,
                request -> false,
                HttpLimit::problem);
    }

    private RateLimitInterceptor(
            RateLimiter limiter,
            String name,
            Function<HttpServletRequest, @Nullable String> key,
            ToLongFunction<HttpServletRequest> cost,
            Predicate<HttpServletRequest> skip,
            RefusalHandler refusals) {
        this.limiter = limiter;
        this.name = name;
        this.key = key;
        this.cost = cost;
        this.skip = skip;
        this.refusals = refusals;
        this.limit = new HttpLimit(limiter, name, refusals);
    }

    /**
     * Whose tokens a request needs, in place of those of the client's address.
     *
     * @param function of the request; for null and an empty text requests share the limiter's own tokens
     * @return a copy with it
     */
    public RateLimitInterceptor key(Function<HttpServletRequest, @Nullable String> function) {
        return new RateLimitInterceptor(limiter, name, Objects.requireNonNull(function), cost, skip, refusals);
    }

    /**
     * How many tokens a request costs.
     *
     * @param function of the request
     * @return a copy with it
     */
    public RateLimitInterceptor cost(ToLongFunction<HttpServletRequest> function) {
        return new RateLimitInterceptor(limiter, name, key, Objects.requireNonNull(function), skip, refusals);
    }

    /**
     * Which requests are exempt.
     *
     * @param predicate of the request
     * @return a copy with it
     */
    public RateLimitInterceptor skip(Predicate<HttpServletRequest> predicate) {
        return new RateLimitInterceptor(limiter, name, key, cost, Objects.requireNonNull(predicate), refusals);
    }

    /**
     * The name in the fields, in place of the limiter's.
     *
     * @param shown the name
     * @return a copy with it
     */
    public RateLimitInterceptor name(String shown) {
        return new RateLimitInterceptor(limiter, Objects.requireNonNull(shown), key, cost, skip, refusals);
    }

    /**
     * Who answers refused requests, in place of the problem.
     *
     * @param handler writes the answer
     * @return a copy with it
     */
    public RateLimitInterceptor onRefused(RefusalHandler handler) {
        return new RateLimitInterceptor(limiter, name, key, cost, skip, Objects.requireNonNull(handler));
    }

    /** Asks the limiter; a request is counted once, also when it is dispatched again. */
    @Override
    public boolean preHandle(HttpServletRequest request, HttpServletResponse response, Object handler)
            throws Exception {
        // A handler that forwards the request comes here again.
        if (!isRequest(request) || request.getAttribute(counted) != null || skip.test(request)) {
            return true;
        }
        request.setAttribute(counted, true);
        return limit.passes(request, response, key.apply(request), cost.applyAsLong(request));
    }

    /** Whether it is no second dispatch of a request: of an asynchronous handler, or to a page that tells of an error. */
    static boolean isRequest(HttpServletRequest request) {
        return request.getDispatcherType() == DispatcherType.REQUEST
                || request.getDispatcherType() == DispatcherType.FORWARD;
    }
}
