package org.libdlock.spring.boot;

import org.libdlock.Client;
import org.springframework.boot.actuate.autoconfigure.health.ConditionalOnEnabledHealthIndicator;
import org.springframework.boot.actuate.health.Health;
import org.springframework.boot.actuate.health.HealthIndicator;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnSingleCandidate;
import org.springframework.context.annotation.Bean;

/** The health indicator {@code libdlock} of Spring Boot 3. */
@AutoConfiguration(after = LibdlockAutoConfiguration.class)
@ConditionalOnClass({HealthIndicator.class, ConditionalOnEnabledHealthIndicator.class})
@ConditionalOnSingleCandidate(Client.class)
@ConditionalOnEnabledHealthIndicator("libdlock")
public class LibdlockActuatorHealthAutoConfiguration {
    /** Makes the configuration. */
    public LibdlockActuatorHealthAutoConfiguration() {}

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
