"""What a client has counted, in both packages; the names that every language has."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import threading
import typing

import pytest

import libdlock
from conftest import VECTORS
from libdlock import aio


def fields(of: type) -> list[str]:
    return [field.name for field in dataclasses.fields(of)]


def test_the_names_are_those_of_every_language() -> None:
    names = json.loads((VECTORS / "stats.json").read_text())
    blocks = names["blocks"]
    assert fields(libdlock.Stats) == [*names["counters"], *names["histograms"], *blocks]
    classes = typing.get_type_hints(libdlock.Stats)
    for block, rows in blocks.items():
        assert fields(classes[block]) == rows["counters"] + rows["histograms"]
    assert fields(libdlock.Histogram) == names["histogram"]
    with libdlock.connect("memory://") as client:
        assert len(client.stats().lock.wait_time.buckets) == names["buckets"]


def test_a_client_counts_what_its_threads_do(client: libdlock.Client, name: str) -> None:
    lock = client.lock(name)

    def wait() -> None:
        with lock:
            pass

    waiter = threading.Thread(target=wait)
    with lock, lock:  # a re-entry is no acquire
        waiter.start()
        while not client.stats().lock.waiting:
            pass
        assert client.stats().lock.held == 1
    waiter.join()
    stats = client.stats().lock
    assert (stats.acquired, stats.contended, stats.handed_over_local + stats.handed_over_remote) == (2, 1, 1)
    assert (stats.released, stats.held, stats.waiting, stats.lost) == (2, 0, 0, 0)
    assert stats.wait_time.count == stats.hold_time.count == sum(stats.hold_time.buckets) == 2
    assert 0 <= stats.wait_time.p50 <= stats.wait_time.p99 <= stats.wait_time.max <= stats.wait_time.sum < 60
    with pytest.raises(dataclasses.FrozenInstanceError):
        stats.acquired = 0  # type: ignore[misc]
    client.close()
    assert client.stats().lock.acquired == 2


async def test_a_client_counts_what_its_tasks_do(
    aio_client: aio.Client, aio_other: aio.Client, name: str
) -> None:
    lock = aio_client.lock(name)
    async with aio_other.lock(name):
        assert not await lock.acquire(timeout=0)
        waiter = asyncio.create_task(lock.acquire())
        while not aio_client.stats().lock.waiting:
            await asyncio.sleep(0)
        while (await lock.inspect()).queued == 0:
            pass
        assert (await lock.inspect()).queued == 1
        assert aio_client.stats().lock.wait_timeouts == 1
        waiter.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiter
    stats = aio_client.stats().lock
    assert (stats.acquired, stats.cancelled, stats.waiting) == (0, 1, 0)
