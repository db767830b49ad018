package org.libdlock.spring.boot;

import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.binder.MeterBinder;
import org.libdlock.Client;
import org.libdlock.spring.metrics.LibdlockMetrics;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnSingleCandidate;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.context.annotation.Bean;

/** What the client counts, in Micrometer's registries. */
@AutoConfiguration(after = LibdlockAutoConfiguration.class)
@ConditionalOnClass({MeterBinder.class, MeterRegistry.class})
@ConditionalOnSingleCandidate(Client.class)
@EnableConfigurationProperties(LibdlockProperties.class)
public class LibdlockMetricsAutoConfiguration {
    /** Makes the configuration. */
    public LibdlockMetricsAutoConfiguration() {}

    @Bean
    @ConditionalOnMissingBean
    LibdlockMetrics libdlockMetrics(Client client, LibdlockProperties properties) {
        return new LibdlockMetrics(client, properties.getMetrics().getClientName());
    }
}
