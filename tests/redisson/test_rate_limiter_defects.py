"""What Redisson's RRateLimiter does wrong, shown with it alone, and not done by ours."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest
from helpers import Fleet
from limiters import Limits, log
from redisson import Peer, RateHolder, Redisson, Refused
from test_rate_limiter import HOUR, clients, ours, program, them
from wire import Wire

__all__ = ["clients", "ours", "program", "them"]


@pytest.fixture
def peer_client(peer: Peer, fleet: Fleet) -> Iterator[Redisson]:
    """Another client of Redisson."""
    redisson = peer.open(fleet.server.admin_url)
    yield redisson
    redisson.close()


def filled(wire: Wire, key: str, members: int, score: int) -> None:
    """A log with so many members of one permit each."""
    script = """for i = 1, ARGV[1] do
        redis.call('ZADD', KEYS[1], ARGV[2], '\\16' .. string.format('%016d', i) .. '\\1\\0\\0\\0')
    end"""
    wire.command("EVAL", script, "1", key, str(members), str(score))


def refusal(them: RateHolder, name: str, permits: int) -> str:
    try:
        them.take(name, permits)
    except Refused as refused:
        return " ".join(map(str, refused.args))
    return ""


def test_a_rate_that_another_client_raises(ours: Limits, them: RateHolder, peer_client: Redisson, name: str) -> None:
    assert them.try_set(name, 2, HOUR, "PER_CLIENT")
    limiter = ours.limiter(name, 2, HOUR, "PER_CLIENT")
    assert limiter.take(1).allowed
    # One that has asked has a number of the old rate.
    assert them.available(name) == 2
    other = peer_client.rate()
    other.set(name, 10, HOUR, "PER_CLIENT")
    assert them.available(name) == 2, "Redisson stays at the old rate"
    assert "attempt to perform arithmetic" in refusal(them, name, 5)
    decision = limiter.take(8)
    assert (decision.allowed, decision.remaining) == (True, 1)
    other.end()


def test_a_release_counts_once(ours: Limits, them: RateHolder, wire: Wire, name: str) -> None:
    assert them.try_set(name, 10, 2_000)
    limiter = ours.limiter(name, 10, 2_000)
    assert them.take(name, 10)
    them.give(name, 5)
    assert them.available(name) == 5
    # For us, what was acquired counts until its time is over.
    assert limiter.peek().remaining == 0
    time.sleep(2.01)
    assert them.available(name) == 15, "of 10, Redisson says"
    assert limiter.peek().remaining == 10
    assert limiter.take(10).allowed
    assert not limiter.take().allowed
    assert wire.text("GET", f"{{{name}}}:value") == "0"


def test_a_release_lets_no_more_through_in_an_interval(ours: Limits, them: RateHolder, wire: Wire, name: str) -> None:
    taken = 0
    assert them.try_set(name, 10, HOUR)
    for _ in range(3):
        taken += 10 * them.take(name, 10)
        them.give(name, 10)
    assert taken == 30, "of 10 in an hour, by Redisson"
    limiter = ours.limiter(name, 10, HOUR)
    assert not limiter.take().allowed
    assert not them.take(name), "ours has put it right"


def test_a_client_whose_clock_is_ahead(ours: Limits, them: RateHolder, wire: Wire, name: str) -> None:
    assert them.try_set(name, 4, 500)
    limiter = ours.limiter(name, 4, 500)
    # As a client of Redisson acquires all whose clock is an hour ahead.
    filled(wire, f"{{{name}}}:permits", 4, int(time.time() * 1000) + HOUR)
    wire.command("SET", f"{{{name}}}:value", "0")
    delay = them.delay(name).ms
    assert delay is not None
    assert delay > HOUR - 60_000, "Redisson waits for an hour"
    # It counts, for one interval from when we first see it, and no longer.
    refused = limiter.take()
    assert not refused.allowed
    assert refused.retry_after is not None
    assert refused.retry_after <= 501_000
    assert limiter.take(4, 2_000).allowed
    assert len(log(wire, f"{{{name}}}:permits")) == 1


def test_a_large_log_that_is_over(ours: Limits, them: RateHolder, wire: Wire, name: str) -> None:
    assert them.try_set(name, 100_000, 1_000)
    limiter = ours.limiter(name, 100_000, 1_000)
    key = f"{{{name}}}:permits"
    slowest = {}
    for who in ["theirs", "ours"]:
        filled(wire, key, 100_000, 1)
        wire.command("SET", f"{{{name}}}:value", "0")
        wire.command("CONFIG", "RESETSTAT")
        assert them.take(name) if who == "theirs" else limiter.take().allowed
        text = wire.text("INFO", "commandstats")
        calls = [line for line in text.splitlines() if line.startswith("cmdstat_eval")]
        slowest[who] = max(float(line.partition("usec=")[2].partition(",")[0]) for line in calls)
        wire.command("DEL", key)
    assert slowest["theirs"] > 10 * slowest["ours"], slowest


def test_keys_of_a_client_that_is_gone(ours: Limits, them: RateHolder, theirs: Redisson, wire: Wire, name: str) -> None:
    assert them.try_set(name, 5, 300, "PER_CLIENT")
    assert them.take(name)
    assert ours.limiter(name, 5, 300, "PER_CLIENT").take().allowed
    ours.kill()
    time.sleep(0.31)
    left = {key for key in wire.all_keys() if name in key}
    assert left == {name, f"{{{name}}}:value:{theirs.id}", f"{{{name}}}:permits:{theirs.id}"}


def test_a_log_without_its_number(ours: Limits, them: RateHolder, wire: Wire, name: str) -> None:
    assert them.try_set(name, 5, HOUR)
    assert them.take(name, 5)
    # As a server evicts one of the keys.
    wire.command("DEL", f"{{{name}}}:value")
    assert not ours.limiter(name, 5, HOUR).take().allowed
    wire.command("DEL", f"{{{name}}}:value")
    assert them.take(name, 5), "Redisson grants all once more"
