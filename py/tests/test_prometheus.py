"""What clients count, as prometheus_client writes it and reads it again."""

from __future__ import annotations

import gc
import math
import os
import re
import subprocess
import sys
from typing import Any

import pytest
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.openmetrics import exposition, parser
from prometheus_client.parser import text_string_to_metric_families as parse

import libdlock
from conftest import ROOT
from libdlock import aio
from libdlock.integrations.prometheus import collect_stats


@pytest.fixture
def registry() -> CollectorRegistry:
    return CollectorRegistry()


def scraped(registry: CollectorRegistry) -> dict[str, float]:
    """Every sample as a scraper reads it, by its name and labels."""
    text = generate_latest(registry).decode()
    return {
        sample.name + str(sorted(sample.labels.items())): sample.value
        for family in parse(text)
        for sample in family.samples
    }


def value(
    registry: CollectorRegistry, name: str, client: str = "libdlock", kind: str = "lock"
) -> float | None:
    labels = {"client": client, "kind": kind} if kind else {"client": client}
    return scraped(registry).get(name + str(sorted(labels.items())))


def test_what_a_client_counts_is_exported(registry: CollectorRegistry) -> None:
    with libdlock.connect("memory://") as client:
        collect_stats(client, registry=registry)
        with client.lock("a"):
            assert value(registry, "dlock_client_held") == 1
        limiter = client.rate_limiter("r", rate=1, per=60)
        assert limiter.try_acquire() and not limiter.try_acquire()
        assert value(registry, "dlock_client_acquired_total") == 1
        assert value(registry, "dlock_client_held") == 0
        assert value(registry, "dlock_client_granted_total", kind="rate-limiter") == 1
        assert value(registry, "dlock_client_refused_total", kind="rate-limiter") == 1
        assert value(registry, "dlock_client_retries_total", kind="") == 0


def test_a_registry_that_was_emptied_exports_again(registry: CollectorRegistry) -> None:
    with libdlock.connect("memory://") as one, libdlock.connect("memory://") as two:
        collect_stats(one, name="one", registry=registry)
        for collector in list(registry._collector_to_names):
            registry.unregister(collector)
        assert scraped(registry) == {}
        collect_stats(two, name="two", registry=registry)
        for name in ("one", "two"):
            assert value(registry, "dlock_client_retries_total", name, "") == 0


def test_histograms_have_the_buckets_of_the_statistics(registry: CollectorRegistry) -> None:
    with libdlock.connect("memory://") as client:
        collect_stats(client, registry=registry)
        for _ in range(20):
            with client.lock("a"):
                pass
        times = client.stats().lock.wait_time
        text = generate_latest(registry).decode()
    (family,) = [each for each in parse(text) if each.name == "dlock_client_wait_seconds"]
    assert family.type == "histogram"
    buckets = [
        (float(each.labels["le"]), each.value) for each in family.samples if each.name.endswith("_bucket")
    ]
    assert len(buckets) == len(times.buckets) == 40
    assert [bound for bound, _ in buckets] == [*(2**at / 1e6 for at in range(39)), math.inf]
    counts = [below - before for (_, below), (_, before) in zip(buckets, [(0, 0), *buckets], strict=False)]
    assert counts == list(times.buckets)
    (total,) = [each.value for each in family.samples if each.name.endswith("_sum")]
    (count,) = [each.value for each in family.samples if each.name.endswith("_count")]
    assert total == pytest.approx(times.sum)
    assert count == 20


def test_kinds_that_are_not_used_are_left_out(registry: CollectorRegistry) -> None:
    with libdlock.connect("memory://") as client:
        collect_stats(client, registry=registry)
        assert scraped(registry) == {"dlock_client_retries_total[('client', 'libdlock')]": 0}
        client.latch("l").try_set_count(1)
        client.latch("l").count_down()
        assert value(registry, "dlock_client_counted_down_total", kind="latch") == 1


def test_the_names_are_those_of_all_languages(registry: CollectorRegistry) -> None:
    rows = (ROOT / "rust" / "metrics" / "src" / "rows.rs").read_text()
    expected = set(re.findall(r'"(dlock_client_\w+)", "([^"]+)"', rows))
    with libdlock.connect("memory://") as client:
        collect_stats(client, registry=registry)
        for stats in ["lock", "semaphore"]:
            getattr(client, stats)(stats, *([3] if stats == "semaphore" else [])).take().release()
    described = {
        (each.name + ("_total" if each.type == "counter" else ""), each.documentation)
        for collector in registry._collector_to_names
        for each in collector.describe()  # type: ignore[attr-defined]
    }
    assert described == expected


def test_openmetrics_can_be_read_too(registry: CollectorRegistry) -> None:
    with libdlock.connect("memory://") as client, client.lock("a"):
        collect_stats(client, registry=registry)
        generate: Any = exposition.generate_latest
        read: Any = parser.text_string_to_metric_families
        families = list(read(generate(registry).decode()))
    assert {"dlock_client_acquired", "dlock_client_wait_seconds"} <= {each.name for each in families}


def test_several_clients_have_names(registry: CollectorRegistry) -> None:
    with libdlock.connect("memory://") as orders, libdlock.connect("memory://") as stock:
        collect_stats(orders, name="orders", registry=registry)
        end = collect_stats(stock, name="stock", registry=registry)
        orders.lock("a").take().release()
        assert value(registry, "dlock_client_acquired_total", "orders") == 1
        stock.lock("a").take().release()
        assert value(registry, "dlock_client_acquired_total", "stock") == 1
        with pytest.raises(ValueError, match="'stock' is exported here already"):
            collect_stats(orders, name="stock", registry=registry)
        end()
        end()
        assert value(registry, "dlock_client_acquired_total", "stock") is None
        collect_stats(orders, name="stock", registry=registry)


def test_a_closed_client_is_exported_until_its_name_is_taken(registry: CollectorRegistry) -> None:
    with libdlock.connect("memory://") as closed:
        end = collect_stats(closed, registry=registry)
        closed.lock("a").take().release()
    assert value(registry, "dlock_client_acquired_total") == 1
    with libdlock.connect("memory://") as client:
        collect_stats(client, registry=registry)
        assert value(registry, "dlock_client_acquired_total") is None
        end()  # of the other one
        client.lock("a").take().release()
        assert value(registry, "dlock_client_acquired_total") == 1


def test_the_registry_keeps_no_client(registry: CollectorRegistry) -> None:
    client = libdlock.connect("memory://")
    collect_stats(client, registry=registry)
    client.close()
    del client
    gc.collect()
    assert scraped(registry) == {}


async def test_a_client_of_tasks_is_exported_too(registry: CollectorRegistry) -> None:
    async with aio.connect("memory://") as client:
        collect_stats(client, registry=registry)
        async with client.lock("a"):
            assert value(registry, "dlock_client_held") == 1


def test_a_forked_child_exports_its_own_client(registry: CollectorRegistry) -> None:
    with libdlock.connect("memory://") as client:
        collect_stats(client, registry=registry)
        client.lock("a").take().release()
        child = os.fork()
        if child == 0:
            try:
                assert scraped(registry) == {}
                with libdlock.connect("memory://") as mine:
                    collect_stats(mine, registry=registry)
                    mine.semaphore("s", 1).take().release()
                    assert value(registry, "dlock_client_acquired_total", kind="semaphore") == 1
                os._exit(0)
            finally:
                os._exit(1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


MULTIPROCESS = """
import sys
import libdlock
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector
from libdlock.integrations.prometheus import collect_stats

registry = CollectorRegistry()
MultiProcessCollector(registry)
with libdlock.connect("memory://") as client:
    client.lock("a").take().release()
    assert b"dlock_client" not in generate_latest(registry)
    collect_stats(client, registry=registry)
    assert b'dlock_client_acquired_total{client="libdlock",kind="lock"} 1.0' in generate_latest(registry)
"""


def test_in_multiprocess_mode_a_process_exports_its_own(tmp_path: object) -> None:
    environment = {**os.environ, "PROMETHEUS_MULTIPROC_DIR": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", MULTIPROCESS], env=environment, check=False, timeout=60)
    assert done.returncode == 0
