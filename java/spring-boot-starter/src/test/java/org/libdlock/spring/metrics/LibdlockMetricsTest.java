package org.libdlock.spring.metrics;

import static org.assertj.core.api.Assertions.assertThat;

import io.micrometer.core.instrument.FunctionTimer;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.composite.CompositeMeterRegistry;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.libdlock.Client;
import org.libdlock.Dlock;
import org.libdlock.spring.Contexts;
import org.springframework.boot.actuate.autoconfigure.metrics.CompositeMeterRegistryAutoConfiguration;
import org.springframework.boot.actuate.autoconfigure.metrics.MetricsAutoConfiguration;
import org.springframework.boot.actuate.autoconfigure.metrics.export.prometheus.PrometheusMetricsExportAutoConfiguration;
import org.springframework.boot.autoconfigure.AutoConfigurations;

class LibdlockMetricsTest {
    private static void lockTwice(Client client) {
        for (int time = 0; time < 2; time++) {
            client.lock("stock").lock();
            client.lock("stock").unlock();
        }
    }

    private static Stream<String> lines(PrometheusMeterRegistry registry, String start) {
        return registry.scrape().lines().filter(line -> line.startsWith(start));
    }

    @Test
    void prometheusShowsTheNamesOfAllLanguages() {
        PrometheusMeterRegistry registry = new PrometheusMeterRegistry(PrometheusConfig.DEFAULT);
        try (Client client = Dlock.connect("memory://");
                LibdlockMetrics metrics = new LibdlockMetrics(client, "orders")) {
            metrics.bindTo(registry);
            lockTwice(client);
            client.lock("held").lock();
            assertThat(registry.scrape())
                    .contains("# HELP dlock_client_acquired_total Grants to a caller.")
                    .contains("# TYPE dlock_client_wait_seconds histogram")
                    .contains("dlock_client_retries_total{client=\"orders\"} 0.0")
                    .contains("dlock_client_acquired_total{client=\"orders\",kind=\"lock\"} 3.0")
                    .contains("dlock_client_released_total{client=\"orders\",kind=\"lock\"} 2.0")
                    .contains("dlock_client_handed_over_local_total{client=\"orders\",kind=\"rw-lock\"} 0.0")
                    .contains("dlock_client_by_policy_total{client=\"orders\",kind=\"rate-limiter\"} 0.0")
                    .contains("dlock_client_held{client=\"orders\",kind=\"lock\"} 1.0")
                    .contains("dlock_client_wait_seconds_count{client=\"orders\",kind=\"lock\"} 3")
                    .contains("dlock_client_hold_seconds_bucket{client=\"orders\",kind=\"lock\",le=\"+Inf\"} 2")
                    .doesNotContain("dlock_client_wait_seconds_count{client=\"orders\",kind=\"queue\"}");
            assertThat(lines(registry, "dlock_client_wait_seconds_bucket")).hasSize(40);
            client.lock("held").unlock();
        }
        assertThat(lines(registry, "dlock_")).isEmpty();
    }

    @Test
    void twoClientsShareARegistry() {
        PrometheusMeterRegistry registry = new PrometheusMeterRegistry(PrometheusConfig.DEFAULT);
        try (Client first = Dlock.connect("memory://");
                Client second = Dlock.connect("memory://");
                LibdlockMetrics ofFirst = new LibdlockMetrics(first, "first");
                LibdlockMetrics ofSecond = new LibdlockMetrics(second, "second")) {
            ofFirst.bindTo(registry);
            ofSecond.bindTo(registry);
            lockTwice(first);
            lockTwice(second);
            assertThat(lines(registry, "dlock_client_wait_seconds_count"))
                    .containsExactly(
                            "dlock_client_wait_seconds_count{client=\"first\",kind=\"lock\"} 2",
                            "dlock_client_wait_seconds_count{client=\"second\",kind=\"lock\"} 2");
        }
    }

    @Test
    void otherRegistriesHaveCountsAndSums() {
        CompositeMeterRegistry composite = new CompositeMeterRegistry();
        SimpleMeterRegistry simple = new SimpleMeterRegistry();
        composite.add(simple);
        try (Client client = Dlock.connect("memory://");
                LibdlockMetrics metrics = new LibdlockMetrics(client, "orders")) {
            metrics.bindTo(composite);
            lockTwice(client);
            FunctionTimer held =
                    simple.get("dlock.client.hold").tag("kind", "lock").functionTimer();
            assertThat(held.count()).isEqualTo(2);
            assertThat(held.totalTime(held.baseTimeUnit())).isPositive();
            assertThat(simple.get("dlock.client.acquired")
                            .tag("kind", "lock")
                            .functionCounter()
                            .count())
                    .isEqualTo(2);
        }
        assertThat(simple.getMeters()).isEmpty();
    }

    @Test
    void everyStatisticHasADescription() {
        assertThat(Statistics.ALL).hasSize(89).allSatisfy(statistic -> assertThat(Descriptions.OF)
                .containsValue(statistic.description()));
    }

    @Test
    void anApplicationExportsItsClient() {
        Contexts.withServer()
                .withConfiguration(AutoConfigurations.of(
                        MetricsAutoConfiguration.class,
                        CompositeMeterRegistryAutoConfiguration.class,
                        PrometheusMetricsExportAutoConfiguration.class))
                .withPropertyValues("libdlock.metrics.client-name=shop")
                .run(context -> {
                    lockTwice(context.getBean(Client.class));
                    MeterRegistry registry = context.getBean(MeterRegistry.class);
                    assertThat(List.of(registry)).hasOnlyElementsOfType(PrometheusMeterRegistry.class);
                    assertThat(lines((PrometheusMeterRegistry) registry, "dlock_client_wait_seconds_count"))
                            .containsExactly("dlock_client_wait_seconds_count{client=\"shop\",kind=\"lock\"} 2");
                });
    }
}
