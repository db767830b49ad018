"""What clients count, for prometheus_client.

collect_stats(client, name="orders")
print(generate_latest().decode())
"""

from __future__ import annotations

import contextlib
import threading
import weakref
from collections.abc import Callable, Iterator
from math import inf

from prometheus_client import REGISTRY, CollectorRegistry
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric

from ._metrics import GAUGES, WHAT, Counts, Seen, Sources, upper_bounds

__all__ = ["Counts", "collect_stats"]

_lock = threading.Lock()
_collectors: weakref.WeakKeyDictionary[CollectorRegistry, _Collector] = weakref.WeakKeyDictionary()


def collect_stats(
    client: Counts, *, name: str = "libdlock", registry: CollectorRegistry = REGISTRY
) -> Callable[[], None]:
    """Exports what a client counts, with the label `client`, and the label `kind` of what it is about: `lock`,
    `rate-limiter` and so on, in the words of `dlock serve`. Kinds that the client has not used are left out.

    Returns a function that ends it. It ends by itself when the client is garbage; one that is closed is exported as it
    was, until another takes its name. `ValueError` when an open client has the name.
    """
    collector = _collector_of(registry)
    collector.sources.add(name, client)
    kept = weakref.ref(client)

    def end() -> None:
        client = kept()
        if client is not None:
            collector.sources.remove(name, client)

    return end


def _collector_of(registry: CollectorRegistry) -> _Collector:
    with _lock:
        collector = _collectors.get(registry)
        if collector is None:
            collector = _Collector()
            registry.register(collector)
            _collectors[registry] = collector
        else:
            # Tests that empty a registry have unregistered it, which nothing tells; otherwise its names are taken.
            with contextlib.suppress(ValueError):
                registry.register(collector)
        return collector


class _Collector:
    """All clients of a registry: a registry takes each name from one collector."""

    def __init__(self) -> None:
        self.sources = Sources()

    def describe(self) -> list[Metric]:
        """The names, before there is a client."""
        return list(_families([]))

    def collect(self) -> Iterator[Metric]:
        """All of one instant."""
        return (family for family in _families(self.sources.seen()) if family.samples)


def _families(seen: list[Seen]) -> Iterator[Metric]:
    for field, what in WHAT.items():
        named = f"dlock_client_{field.removesuffix('_time')}"
        labels = ["client"] if field == "retries" else ["client", "kind"]
        if field.endswith("_time"):
            yield _histogram(f"{named}_seconds", what, field, labels, seen)
            continue
        made = GaugeMetricFamily if field in GAUGES else CounterMetricFamily
        family = made(named, what, labels=labels)
        for each in seen:
            if (value := each.get(field)) is not None:
                family.add_metric(_labels(each), value)
        yield family


def _histogram(name: str, what: str, field: str, labels: list[str], seen: list[Seen]) -> Metric:
    family = HistogramMetricFamily(name, what, labels=labels)
    for each in seen:
        if (times := each.get(field)) is not None:
            # As Go writes them, and with it all exporters of Prometheus.
            buckets = [
                ("+Inf" if bound == inf else repr(bound), count) for bound, count in upper_bounds(times)
            ]
            family.add_metric(_labels(each), buckets, times.sum)
    return family


def _labels(seen: Seen) -> list[str]:
    return [seen.client] if seen.kind is None else [seen.client, seen.kind]
