package org.libdlock.spring.metrics;

import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.FunctionTimer;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.Meter;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Tags;
import io.micrometer.core.instrument.binder.MeterBinder;
import io.micrometer.core.instrument.composite.CompositeMeterRegistry;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.libdlock.Client;
import org.libdlock.Stats;
import org.libdlock.spring.metrics.Statistics.Statistic;
import org.springframework.util.ClassUtils;

/**
 * Exports what a client counts: {@code dlock.client.acquired} and so on, with the tag {@code client}, and the tag {@code kind} of what it is
 * about: {@code lock}, {@code rate-limiter}. Nothing is done in between, and reading costs no I/O.
 *
 * <p>Times are histograms in a Prometheus registry, with the buckets of the statistics; in other registries they have a count and a sum.
 */
public class LibdlockMetrics implements MeterBinder, AutoCloseable {
    private static final boolean HAS_PROMETHEUS = ClassUtils.isPresent(
            "io.micrometer.prometheusmetrics.PrometheusMeterRegistry", LibdlockMetrics.class.getClassLoader());

    private final Client client;
    private final String name;
    private final List<Runnable> removals = new ArrayList<>();

    /**
     * For a client.
     *
     * @param client what it counts
     * @param name the tag {@code client}
     */
    public LibdlockMetrics(Client client, String name) {
        this.client = client;
        this.name = name;
    }

    /** Adds the statistics to a registry, until this is closed. */
    @Override
    public void bindTo(MeterRegistry registry) {
        for (Statistic statistic : Statistics.ALL) {
            if (statistic.type() != Statistics.Type.TIME) {
                added(registry, number(statistic, registry));
            }
        }
        bindTimes(registry);
    }

    private Meter number(Statistic statistic, MeterRegistry registry) {
        if (statistic.type() == Statistics.Type.GAUGE) {
            return Gauge.builder(statistic.name(), this, self -> statistic.count(self.stats()))
                    .tags(tags(statistic))
                    .description(statistic.description())
                    .register(registry);
        }
        return FunctionCounter.builder(statistic.name(), this, self -> statistic.count(self.stats()))
                .tags(tags(statistic))
                .description(statistic.description())
                .register(registry);
    }

    /** Each member of a composite has times in its own way. */
    private void bindTimes(MeterRegistry registry) {
        if (registry instanceof CompositeMeterRegistry composite) {
            composite.getRegistries().forEach(this::bindTimes);
        } else if (HAS_PROMETHEUS && PrometheusTimes.isFor(registry)) {
            Runnable removal = PrometheusTimes.add(registry, name, this::stats);
            synchronized (removals) {
                removals.add(removal);
            }
        } else {
            for (Statistic statistic : Statistics.ALL) {
                if (statistic.type() == Statistics.Type.TIME) {
                    added(registry, time(statistic, registry));
                }
            }
        }
    }

    private Meter time(Statistic statistic, MeterRegistry registry) {
        return FunctionTimer.builder(
                        statistic.name(),
                        this,
                        self -> statistic.time(self.stats()).count(),
                        self -> statistic.time(self.stats()).sum().toNanos(),
                        TimeUnit.NANOSECONDS)
                .tags(tags(statistic))
                .description(statistic.description())
                .register(registry);
    }

    private void added(MeterRegistry registry, Meter meter) {
        synchronized (removals) {
            removals.add(() -> registry.remove(meter));
        }
    }

    private Tags tags(Statistic statistic) {
        Tags tags = Tags.of("client", name);
        String kind = statistic.kind();
        return kind == null ? tags : tags.and("kind", kind);
    }

    private Stats stats() {
        return client.stats();
    }

    /** Removes the statistics from all registries. */
    @Override
    public void close() {
        synchronized (removals) {
            removals.forEach(Runnable::run);
            removals.clear();
        }
    }
}
