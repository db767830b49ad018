package org.libdlock.spring.metrics;

import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import io.prometheus.metrics.model.registry.MultiCollector;
import io.prometheus.metrics.model.snapshots.ClassicHistogramBuckets;
import io.prometheus.metrics.model.snapshots.HistogramSnapshot;
import io.prometheus.metrics.model.snapshots.HistogramSnapshot.HistogramDataPointSnapshot;
import io.prometheus.metrics.model.snapshots.Labels;
import io.prometheus.metrics.model.snapshots.MetricSnapshots;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.TreeMap;
import java.util.WeakHashMap;
import java.util.function.Supplier;
import org.libdlock.Histogram;
import org.libdlock.Stats;
import org.libdlock.spring.metrics.Statistics.Statistic;

/** The times of all clients of a Prometheus registry, as histograms: Micrometer has no meter for one that was counted elsewhere. */
final class PrometheusTimes implements MultiCollector {
    private static final Map<MeterRegistry, PrometheusTimes> ALL = new WeakHashMap<>();

    private final Map<String, Supplier<Stats>> clients = new TreeMap<>();

    private PrometheusTimes() {}

    static boolean isFor(MeterRegistry registry) {
        return registry instanceof PrometheusMeterRegistry;
    }

    /** Returns what removes them again. */
    static Runnable add(MeterRegistry registry, String name, Supplier<Stats> stats) {
        PrometheusTimes times;
        synchronized (ALL) {
            times = ALL.get(registry);
            if (times == null) {
                times = new PrometheusTimes();
                ALL.put(registry, times);
                ((PrometheusMeterRegistry) registry).getPrometheusRegistry().register(times);
            }
        }
        PrometheusTimes added = times;
        synchronized (added.clients) {
            added.clients.put(name, stats);
        }
        return () -> {
            synchronized (added.clients) {
                added.clients.remove(name, stats);
            }
        };
    }

    @Override
    public MetricSnapshots collect() {
        Map<String, HistogramSnapshot.Builder> found = new LinkedHashMap<>();
        synchronized (clients) {
            clients.forEach((client, stats) -> collect(client, stats.get(), found));
        }
        MetricSnapshots.Builder snapshots = MetricSnapshots.builder();
        found.values().forEach(each -> snapshots.metricSnapshot(each.build()));
        return snapshots.build();
    }

    private static void collect(String client, Stats stats, Map<String, HistogramSnapshot.Builder> found) {
        for (Statistic statistic : Statistics.ALL) {
            if (statistic.type() != Statistics.Type.TIME) {
                continue;
            }
            Histogram time = statistic.time(stats);
            String kind = statistic.kind();
            // Kinds that the client has not used are left out: 40 lines each.
            if (time.count() == 0 || kind == null) {
                continue;
            }
            String name = statistic.name().replace('.', '_') + "_seconds";
            found.computeIfAbsent(
                            name, key -> HistogramSnapshot.builder().name(key).help(statistic.description()))
                    .dataPoint(HistogramDataPointSnapshot.builder()
                            .labels(Labels.of("client", client, "kind", kind))
                            .classicHistogramBuckets(buckets(time))
                            .sum(time.sum().toNanos() / 1e9)
                            .build());
        }
    }

    /** The first has what took less than 1 us, and each next one is twice as wide. */
    private static ClassicHistogramBuckets buckets(Histogram time) {
        ClassicHistogramBuckets.Builder buckets = ClassicHistogramBuckets.builder();
        int last = time.buckets().size() - 1;
        for (int at = 0; at <= last; at++) {
            double bound = at == last ? Double.POSITIVE_INFINITY : Math.scalb(1.0, at) / 1e6;
            buckets.bucket(bound, time.buckets().get(at));
        }
        return buckets.build();
    }
}
