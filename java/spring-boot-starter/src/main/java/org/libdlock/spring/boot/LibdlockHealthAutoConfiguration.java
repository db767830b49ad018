package org.libdlock.spring.boot;

import org.libdlock.Client;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnSingleCandidate;
import org.springframework.boot.health.autoconfigure.contributor.ConditionalOnEnabledHealthIndicator;
import org.springframework.boot.health.contributor.Health;
import org.springframework.boot.health.contributor.HealthIndicator;
import org.springframework.context.annotation.Bean;

/** The health indicator {@code libdlock} of Spring Boot 4. */
@AutoConfiguration(after = LibdlockAutoConfiguration.class)
@ConditionalOnClass({HealthIndicator.class, ConditionalOnEnabledHealthIndicator.class})
@ConditionalOnSingleCandidate(Client.class)
@ConditionalOnEnabledHealthIndicator("libdlock")
public class LibdlockHealthAutoConfiguration {
    /** Makes the configuration. */
    public LibdlockHealthAutoConfiguration() {}

    @Bean
    @ConditionalOnMissingBean(name = "libdlockHealthIndicator")
    HealthIndicator libdlockHealthIndicator(Client client) {
        return () -> {
            LibdlockHealth health = LibdlockHealth.of(client);
            return (health.isUp() ? Health.up() : Health.down())
                    .withDetails(health.details())
                    .build();
        };
    }
}
