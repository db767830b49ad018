package org.libdlock.spring.boot;

import java.lang.reflect.Method;
import java.util.function.BiPredicate;
import org.libdlock.Client;
import org.libdlock.spring.LibdlockAnnotationPostProcessor;
import org.libdlock.spring.RateLimiters;
import org.springframework.beans.factory.ListableBeanFactory;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.beans.factory.config.BeanDefinition;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBooleanProperty;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Role;
import org.springframework.core.env.Environment;

/** The client of an application, its limiters, and the annotations. */
@AutoConfiguration
@ConditionalOnBooleanProperty(name = "libdlock.enabled", matchIfMissing = true)
@EnableConfigurationProperties(LibdlockProperties.class)
public class LibdlockAutoConfiguration {
    /** Makes the configuration. */
    public LibdlockAutoConfiguration() {}

    @Bean
    @Role(BeanDefinition.ROLE_INFRASTRUCTURE)
    static ClientsEnd libdlockClientsEnd(ObjectProvider<LibdlockProperties> properties) {
        return new ClientsEnd(properties);
    }

    /** Not closed with the beans that were made about when it was, but after all. */
    @Bean(destroyMethod = "")
    @ConditionalOnMissingBean
    Client libdlockClient(LibdlockProperties properties, ClientsEnd end) {
        return end.closesLast(Clients.connect(properties));
    }

    @Bean
    @ConditionalOnMissingBean
    RateLimiters libdlockRateLimiters(
            ObjectProvider<Client> client, LibdlockProperties properties, ListableBeanFactory beans) {
        return new RateLimiters(Clients.limiters(client::getObject, properties), beans);
    }

    @Bean
    @ConditionalOnMissingBean
    @Role(BeanDefinition.ROLE_INFRASTRUCTURE)
    static LibdlockAnnotationPostProcessor libdlockAnnotationPostProcessor(Environment environment) {
        return postProcessor((type, method) -> false, environment);
    }

    /** Proxies are those of classes unless the application says otherwise, as Spring Boot's own are. */
    static LibdlockAnnotationPostProcessor postProcessor(
            BiPredicate<Class<?>, Method> isHandler, Environment environment) {
        LibdlockAnnotationPostProcessor postProcessor = new LibdlockAnnotationPostProcessor(isHandler);
        postProcessor.setProxyTargetClass(
                environment.getProperty("spring.aop.proxy-target-class", Boolean.class, true));
        return postProcessor;
    }
}
