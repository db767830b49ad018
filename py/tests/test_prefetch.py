"""Rate limiters that fetch tokens ahead, for threads and for tasks. The core's tests check that the rate is kept exactly."""

from __future__ import annotations

import math
import time

import pytest

import libdlock
from libdlock import aio
from redis_server import RedisServer

RATE = 2_000


def scripts(server: RedisServer) -> int:
    """How many scripts the server has run."""
    stats = server.command("INFO", "commandstats")
    assert isinstance(stats, bytes)
    lines = [
        line for line in stats.decode().splitlines() if line.startswith(("cmdstat_evalsha:", "cmdstat_eval:"))
    ]
    return sum(int(line.split("calls=")[1].split(",")[0]) for line in lines)


def check(decisions: list[libdlock.Decision], asked: int, seconds: float) -> None:
    """No more than the burst and what the rate brought, and few of the decisions were the server's."""
    times = sorted(decision.server_time or 0 for decision in decisions if decision)
    assert len(times) <= RATE + RATE * (times[-1] - times[0]) / 1e6 + 1
    # A slow machine may ask for less than there is.
    assert len(times) >= min(RATE, len(decisions)) / 2
    # Each of two clients asks less than 50 times a second.
    assert asked <= 2 * (50 * seconds + 10), f"{asked} scripts in {seconds} s"


def test_two_clients_of_threads_use_the_rate_and_no_more(server: RedisServer, name: str) -> None:
    with libdlock.connect(server.url) as one, libdlock.connect(server.url) as two:
        limiters = [client.rate_limiter(name, rate=RATE, per=1, prefetch=0.5) for client in (one, two)]
        before, began, decisions = scripts(server), time.monotonic(), []
        while time.monotonic() - began < 1:
            decisions += [limiter.try_acquire() for limiter in limiters]
        check(decisions, scripts(server) - before, time.monotonic() - began)


async def test_two_clients_of_tasks_use_the_rate_and_no_more(server: RedisServer, name: str) -> None:
    async with aio.connect(server.url) as one, aio.connect(server.url) as two:
        limiters = [client.rate_limiter(name, rate=RATE, per=1, prefetch=0.5) for client in (one, two)]
        before, began, decisions = scripts(server), time.monotonic(), []
        while time.monotonic() - began < 1:
            decisions += [await limiter.try_acquire() for limiter in limiters]
        check(decisions, scripts(server) - before, time.monotonic() - began)


def test_a_client_that_closes_gives_back_what_it_has(server: RedisServer, name: str) -> None:
    with libdlock.connect(server.url) as other:
        theirs = other.rate_limiter(name, rate=1_000, per=1, burst=100_000)
        with libdlock.connect(server.url) as client:
            limiter = client.rate_limiter(name, rate=1_000, per=1, burst=100_000, prefetch=0.5)
            used = sum(limiter.try_acquire().granted for _ in range(2_000))
        assert used == 2_000
        assert theirs.peek().remaining >= 100_000 - used


def test_a_key_fetches_nothing_ahead(client: libdlock.Client, name: str) -> None:
    limiter = client.rate_limiter(name, rate=10, per=3600, prefetch=1)
    assert [bool(limiter.try_acquire(key="a")) for _ in range(11)] == [True] * 10 + [False]


def test_what_cannot_be_is_refused_as_without_prefetch(client: libdlock.Client, name: str) -> None:
    limiter = client.rate_limiter(name, rate=1_000, per=1, prefetch=0.5)
    assert limiter.try_acquire(1_001).retry_after is None, "never"
    for cost in (-1, 2**63):
        with pytest.raises(libdlock.InvalidArgument, match="cost"):
            limiter.try_acquire(cost)
    client.close()
    with pytest.raises(libdlock.Closed):
        limiter.try_acquire()


def test_a_share_is_more_than_nothing_and_no_more_than_all(client: libdlock.Client, name: str) -> None:
    for share in (0, -0.1, 1.1, math.nan, math.inf):
        with pytest.raises(libdlock.InvalidArgument, match="prefetch"):
            client.rate_limiter(name, rate=5, per=1, prefetch=share)
    for wrong in ("1", True, [1]):
        with pytest.raises(TypeError, match="prefetch"):
            client.rate_limiter(name, rate=5, per=1, prefetch=wrong)  # type: ignore[arg-type]
