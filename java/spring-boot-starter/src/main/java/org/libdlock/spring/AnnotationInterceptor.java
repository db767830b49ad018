package org.libdlock.spring;

import java.util.function.Supplier;
import org.aopalliance.intercept.MethodInterceptor;
import org.aopalliance.intercept.MethodInvocation;
import org.jspecify.annotations.Nullable;
import org.libdlock.Client;
import org.springframework.aop.support.AopUtils;
import org.springframework.expression.BeanResolver;

/** Calls of methods with annotations of this package: first the limits, then the lock. */
final class AnnotationInterceptor implements MethodInterceptor {
    private final AnnotatedMethods methods;
    private final Supplier<Client> client;
    private final Supplier<RateLimiters> limiters;
    private final BeanResolver beans;

    AnnotationInterceptor(
            AnnotatedMethods methods, Supplier<Client> client, Supplier<RateLimiters> limiters, BeanResolver beans) {
        this.methods = methods;
        this.client = client;
        this.limiters = limiters;
        this.beans = beans;
    }

    @Override
    public @Nullable Object invoke(MethodInvocation call) throws Throwable {
        Object target = call.getThis();
        Class<?> type = target == null ? call.getMethod().getDeclaringClass() : AopUtils.getTargetClass(target);
        AnnotatedMethods.Found found = methods.of(call.getMethod(), type);
        for (RateLimitedMethod limited : found.limits()) {
            limited.pass(call, limiters.get(), beans);
        }
        return found.locked() == null ? call.proceed() : found.locked().call(call, client.get(), beans);
    }
}
