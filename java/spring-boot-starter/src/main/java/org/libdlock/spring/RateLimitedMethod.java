package org.libdlock.spring;

import java.lang.reflect.Method;
import java.time.Duration;
import java.util.function.UnaryOperator;
import org.aopalliance.intercept.MethodInvocation;
import org.jspecify.annotations.Nullable;
import org.libdlock.Decision;
import org.libdlock.RateLimiter;
import org.springframework.expression.BeanResolver;
import org.springframework.expression.EvaluationContext;

/** A method of a bean, and one of its {@link RateLimited}. */
final class RateLimitedMethod {
    private final String name;
    private final @Nullable Expression key;
    private final Expression cost;
    private final @Nullable Expression skip;
    private final @Nullable Duration wait;
    private final Annotated annotated;

    RateLimitedMethod(Method method, RateLimited limited, UnaryOperator<String> placeholders) {
        annotated = new Annotated("@RateLimited", method, placeholders);
        annotated.checkInterceptable();
        name = annotated.nonEmpty("value", limited.value());
        key = annotated.expression("key", limited.key());
        cost = annotated.required("cost", limited.cost());
        skip = annotated.expression("skip", limited.skip());
        wait = annotated.duration("waitTime", limited.waitTime());
    }

    String name() {
        return name;
    }

    /** Returns when the call may go on. */
    void pass(MethodInvocation call, RateLimiters limiters, BeanResolver beans) throws InterruptedException {
        EvaluationContext context = annotated.context(call, beans);
        if (skip != null && skip.isTrue(context)) {
            return;
        }
        RateLimiter limiter = limiters.get(name);
        String of = key == null ? null : key.text(context);
        if (of != null && !of.isEmpty()) {
            limiter = limiter.keyed(of);
        }
        long tokens = cost.number(context);
        Decision decision = wait == null ? limiter.tryAcquire(tokens) : acquire(limiter, tokens, wait);
        if (!decision.allowed()) {
            throw new RateLimitedException(name, decision);
        }
    }

    private Decision acquire(RateLimiter limiter, long tokens, Duration longest) throws InterruptedException {
        try {
            return limiter.acquire(tokens, longest);
        } catch (InterruptedException interrupted) {
            if (annotated.declares(InterruptedException.class)) {
                throw interrupted;
            }
            Thread.currentThread().interrupt();
            throw new IllegalStateException("interrupted while waiting for tokens of " + name, interrupted);
        }
    }
}
