package org.libdlock.spring.boot;

import org.libdlock.spring.LibdlockAnnotationPostProcessor;
import org.libdlock.spring.RateLimiters;
import org.libdlock.spring.web.RateLimitedInterceptor;
import org.libdlock.spring.web.RefusalHandler;
import org.springframework.beans.factory.BeanFactory;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.beans.factory.SmartInitializingSingleton;
import org.springframework.beans.factory.config.BeanDefinition;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBooleanProperty;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnWebApplication;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Role;
import org.springframework.context.expression.BeanFactoryResolver;
import org.springframework.core.annotation.AnnotatedElementUtils;
import org.springframework.core.env.Environment;
import org.springframework.stereotype.Controller;
import org.springframework.web.bind.annotation.RequestMapping;
import org.springframework.web.service.annotation.HttpExchange;
import org.springframework.web.servlet.config.annotation.InterceptorRegistry;
import org.springframework.web.servlet.config.annotation.WebMvcConfigurer;
import org.springframework.web.servlet.mvc.method.annotation.RequestMappingHandlerMapping;

/** Limits of requests in Spring MVC. */
@AutoConfiguration(before = LibdlockAutoConfiguration.class)
@ConditionalOnBooleanProperty(name = "libdlock.enabled", matchIfMissing = true)
@ConditionalOnWebApplication(type = ConditionalOnWebApplication.Type.SERVLET)
@ConditionalOnClass({WebMvcConfigurer.class, RequestMappingHandlerMapping.class})
public class LibdlockWebMvcAutoConfiguration {
    /** Makes the configuration. */
    public LibdlockWebMvcAutoConfiguration() {}

    @Bean
    @ConditionalOnMissingBean
    @Role(BeanDefinition.ROLE_INFRASTRUCTURE)
    static LibdlockAnnotationPostProcessor libdlockAnnotationPostProcessor(Environment environment) {
        return LibdlockAutoConfiguration.postProcessor(
                (type, method) -> AnnotatedElementUtils.hasAnnotation(type, Controller.class)
                        && (AnnotatedElementUtils.hasAnnotation(method, RequestMapping.class)
                                || AnnotatedElementUtils.hasAnnotation(method, HttpExchange.class)),
                environment);
    }

    @Bean
    @ConditionalOnMissingBean
    RateLimitedInterceptor libdlockRateLimitedInterceptor(
            RateLimiters limiters,
            Environment environment,
            BeanFactory beans,
            ObjectProvider<RefusalHandler> refusals) {
        return new RateLimitedInterceptor(
                limiters,
                environment::resolveRequiredPlaceholders,
                new BeanFactoryResolver(beans),
                refusals.getIfAvailable());
    }

    @Bean
    WebMvcConfigurer libdlockWebMvcConfigurer(RateLimitedInterceptor interceptor) {
        return new WebMvcConfigurer() {
            @Override
            public void addInterceptors(InterceptorRegistry registry) {
                registry.addInterceptor(interceptor);
            }
        };
    }

    /** Reads all handlers, so that what is wrong with their annotations is said when the application starts. */
    @Bean
    SmartInitializingSingleton libdlockHandlerCheck(
            RateLimitedInterceptor interceptor, ObjectProvider<RequestMappingHandlerMapping> mappings) {
        return () ->
                mappings.forEach(mapping -> mapping.getHandlerMethods().values().forEach(interceptor::check));
    }
}
