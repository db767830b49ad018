package org.libdlock.spring;

import java.io.Serial;
import java.lang.reflect.Method;
import java.util.function.BiPredicate;
import org.jspecify.annotations.Nullable;
import org.libdlock.Client;
import org.springframework.aop.framework.Advised;
import org.springframework.aop.framework.autoproxy.AbstractBeanFactoryAwareAdvisingPostProcessor;
import org.springframework.aop.support.DefaultPointcutAdvisor;
import org.springframework.aop.support.StaticMethodMatcherPointcut;
import org.springframework.beans.factory.BeanFactory;
import org.springframework.beans.factory.SmartInitializingSingleton;
import org.springframework.beans.factory.config.ConfigurableBeanFactory;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.context.expression.BeanFactoryResolver;

/**
 * Makes {@link Locked} and {@link RateLimited} work on methods of beans.
 *
 * <p>It stands before all other advice of a bean, but behind {@code @Async}: a lock is acquired before a transaction begins and released
 * after it has ended, and on the thread that runs the method.
 */
public class LibdlockAnnotationPostProcessor extends AbstractBeanFactoryAwareAdvisingPostProcessor
        implements SmartInitializingSingleton {
    @Serial
    private static final long serialVersionUID = 1;

    /** Where limits are those of requests. */
    private final transient BiPredicate<Class<?>, Method> isHandler;

    private transient @Nullable AnnotatedMethods methods;
    private transient @Nullable BeanFactory beans;

    /**
     * For an application.
     *
     * @param isHandler which methods of which classes handle requests, so that a {@link RateLimited} there limits these
     */
    public LibdlockAnnotationPostProcessor(BiPredicate<Class<?>, Method> isHandler) {
        this.isHandler = isHandler;
        setBeforeExistingAdvisors(true);
        // @Async has the lowest precedence, and comes before what is there when it is applied.
        setOrder(LOWEST_PRECEDENCE - 1);
    }

    /** Looks up the beans that it needs when the first method is called. */
    @Override
    public void setBeanFactory(BeanFactory beanFactory) {
        super.setBeanFactory(beanFactory);
        AnnotatedMethods found = new AnnotatedMethods(text -> replaced(beanFactory, text), isHandler);
        methods = found;
        beans = beanFactory;
        AnnotationInterceptor interceptor = new AnnotationInterceptor(
                found,
                () -> beanFactory.getBean(Client.class),
                () -> beanFactory.getBean(RateLimiters.class),
                new BeanFactoryResolver(beanFactory));
        this.advisor = new DefaultPointcutAdvisor(new Annotations(found), interceptor);
    }

    private static String replaced(BeanFactory beanFactory, String text) {
        String resolved =
                beanFactory instanceof ConfigurableBeanFactory factory ? factory.resolveEmbeddedValue(text) : text;
        return resolved == null ? "" : resolved;
    }

    /** Says which limiters there are not, when all beans are made. */
    @Override
    public void afterSingletonsInstantiated() {
        if (methods != null && beans != null) {
            for (String limiter : methods.limiterNames()) {
                beans.getBean(RateLimiters.class).get(limiter);
            }
        }
    }

    /** A proxy that is a bean under another name too is left as it is: it would count and lock twice. */
    @Override
    public Object postProcessAfterInitialization(Object bean, String beanName) {
        Object processed = isAdvised(bean) ? bean : super.postProcessAfterInitialization(bean, beanName);
        if (isAdvised(processed)) {
            dependOnClients(beanName);
        }
        return processed;
    }

    private boolean isAdvised(Object bean) {
        return advisor != null && bean instanceof Advised advised && advised.indexOf(advisor) >= 0;
    }

    /** A bean that locks is destroyed before the client that it locks with, although none was injected into it. */
    private void dependOnClients(String beanName) {
        if (beans instanceof ConfigurableListableBeanFactory factory) {
            for (String client : factory.getBeanNamesForType(Client.class, true, false)) {
                factory.registerDependentBean(client, beanName);
            }
        }
    }

    /** Also says what is wrong with an annotation, when the bean is made and not when it is called first. */
    @Override
    protected boolean isEligible(Class<?> targetClass) {
        return methods != null && methods.anyOf(targetClass);
    }

    /** The methods that have one of the annotations. */
    private static final class Annotations extends StaticMethodMatcherPointcut {
        private final AnnotatedMethods methods;

        Annotations(AnnotatedMethods methods) {
            this.methods = methods;
        }

        @Override
        public boolean matches(Method method, Class<?> targetClass) {
            return !methods.of(method, targetClass).isEmpty();
        }
    }
}
