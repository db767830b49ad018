"""What clients count, as a reader of OpenTelemetry's SDK gets it."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any

import pytest
from opentelemetry.metrics import Meter
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import AggregationTemporality, InMemoryMetricReader, Sum

import libdlock
from libdlock import aio
from libdlock.integrations.opentelemetry import collect_stats


class Exported:
    """A provider, its meter, and what its reader has."""

    def __init__(self, **options: Any) -> None:
        self._reader = InMemoryMetricReader(**options)
        self._provider = MeterProvider([self._reader])
        self.meter: Meter = self._provider.get_meter("test")

    def metrics(self) -> dict[str, Any]:
        data = self._reader.get_metrics_data()
        scopes = (
            [scope for resource in data.resource_metrics for scope in resource.scope_metrics] if data else []
        )
        return {metric.name: metric for scope in scopes for metric in scope.metrics}

    def points(self, name: str) -> dict[tuple[tuple[str, Any], ...], float]:
        metric = self.metrics().get(name)
        points = metric.data.data_points if metric else []
        return {tuple(sorted(point.attributes.items())): point.value for point in points}

    def close(self) -> None:
        self._provider.shutdown()


@pytest.fixture
def exported() -> Iterator[Exported]:
    exported = Exported()
    yield exported
    exported.close()


LOCK = (("client", "libdlock"), ("kind", "lock"))


def test_counts_and_gauges_are_observed(exported: Exported) -> None:
    with libdlock.connect("memory://") as client:
        collect_stats(client, meter=exported.meter)
        with client.lock("a"):
            assert exported.points("dlock.client.held") == {LOCK: 1}
        assert exported.points("dlock.client.held") == {LOCK: 0}
        assert exported.points("dlock.client.acquired") == {LOCK: 1}
        assert exported.points("dlock.client.retries") == {(("client", "libdlock"),): 0}
        metrics = exported.metrics()
    acquired, held = metrics["dlock.client.acquired"].data, metrics["dlock.client.held"].data
    assert isinstance(acquired, Sum) and acquired.is_monotonic
    assert isinstance(held, Sum) and not held.is_monotonic
    assert metrics["dlock.client.acquired"].description == "Grants to a caller."


def test_a_time_has_a_count_a_sum_and_buckets(exported: Exported) -> None:
    with libdlock.connect("memory://") as client:
        collect_stats(client, meter=exported.meter)
        for _ in range(20):
            client.lock("a").take().release()
        times = client.stats().lock.wait_time
        assert exported.points("dlock.client.wait.count") == {LOCK: 20}
        assert exported.points("dlock.client.wait.sum")[LOCK] == pytest.approx(times.sum)
        assert exported.metrics()["dlock.client.wait.sum"].unit == "s"
        buckets = exported.points("dlock.client.wait.bucket")
    bounds = {float(dict(labels)["le"]): value for labels, value in buckets.items()}
    assert len(bounds) == 40
    assert list(bounds.values()) == sorted(bounds.values())
    assert bounds[float("inf")] == 20
    assert bounds[1e-6] == times.buckets[0]


def test_a_reader_may_ask_for_differences() -> None:
    from opentelemetry.sdk.metrics import ObservableCounter

    exported = Exported(preferred_temporality={ObservableCounter: AggregationTemporality.DELTA})
    with libdlock.connect("memory://") as client:
        collect_stats(client, meter=exported.meter)
        for times in (3, 2):
            for _ in range(times):
                client.lock("a").take().release()
            assert exported.points("dlock.client.acquired") == {LOCK: times}
    exported.close()


def test_several_clients_are_told_apart(exported: Exported) -> None:
    with libdlock.connect("memory://") as orders, libdlock.connect("memory://") as stock:
        collect_stats(orders, name="orders", meter=exported.meter)
        end = collect_stats(stock, name="stock", meter=exported.meter)
        for client in (orders, stock):
            client.rate_limiter("r", rate=1, per=60).try_acquire()
        granted = exported.points("dlock.client.granted")
        assert granted == {
            (("client", "orders"), ("kind", "rate-limiter")): 1,
            (("client", "stock"), ("kind", "rate-limiter")): 1,
        }
        with pytest.raises(ValueError, match="'orders' is exported here already"):
            collect_stats(stock, name="orders", meter=exported.meter)
        end()
        assert list(exported.points("dlock.client.retries")) == [(("client", "orders"),)]


async def test_a_client_of_tasks_is_exported_too(exported: Exported) -> None:
    async with aio.connect("memory://") as client:
        collect_stats(client, meter=exported.meter)
        async with client.lock("a"):
            assert exported.points("dlock.client.held") == {LOCK: 1}


GLOBAL = """
import libdlock
from libdlock.integrations.opentelemetry import collect_stats
from opentelemetry.metrics import set_meter_provider
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader

with libdlock.connect("memory://") as client, libdlock.connect("memory://") as other:
    collect_stats(client)
    reader = InMemoryMetricReader()
    set_meter_provider(MeterProvider([reader]))
    collect_stats(other, name="other")
    client.lock("a").take().release()
    scope, = reader.get_metrics_data().resource_metrics[0].scope_metrics
    assert scope.scope.name == "libdlock"
    values = {metric.name: metric.data.data_points[0].value for metric in scope.metrics}
    assert values["dlock.client.acquired"] == 1, values
"""


def test_the_global_provider_may_be_set_later() -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", GLOBAL], check=False, timeout=60, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""


def test_an_export_costs_milliseconds(exported: Exported) -> None:
    with libdlock.connect("memory://") as client:
        collect_stats(client, meter=exported.meter)
        client.lock("a").take().release()
        exported.metrics()
        start = time.perf_counter()
        for _ in range(10):
            exported.metrics()
        # 5 ms here; an export each minute could take a hundred times that.
        assert (time.perf_counter() - start) / 10 < 0.5
