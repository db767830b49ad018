"""Rate limiters of ours and RRateLimiters of one name are one limiter."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import pytest
from helpers import Fleet
from limiters import Limiter, Limits, build, log, permits
from redisson import Peer, RateHolder, Redisson, Refused
from sides import now_us
from wire import Wire

#: Longer than any test takes.
HOUR = 3_600_000  # ms


@pytest.fixture(scope="session")
def program() -> str:
    return build()


@pytest.fixture
def clients(program: str, fleet: Fleet) -> Iterator[Callable[[], Limits]]:
    """Makes clients of ours, each in a process of its own."""
    running: list[Limits] = []

    def start() -> Limits:
        running.append(Limits(program, fleet.server.url))
        return running[-1]

    yield start
    for client in running:
        client.kill()


@pytest.fixture
def ours(clients: Callable[[], Limits]) -> Limits:
    return clients()


@pytest.fixture
def them(theirs: Redisson, wire: Wire, name: str) -> Iterator[RateHolder]:
    holder = theirs.rate()
    yield holder
    holder.end()
    # A limiter stays.
    for key in wire.all_keys():
        if name in key:
            wire.command("DEL", key)


def check_agreed(them: RateHolder, ours: Limiter, name: str, available: int) -> None:
    assert (them.available(name), ours.peek().remaining) == (available, available)


def test_each_side_charges_what_the_other_sees(ours: Limits, them: RateHolder, name: str) -> None:
    assert them.try_set(name, 10, HOUR)
    limiter = ours.limiter(name, 10, HOUR)
    assert limiter.take(3).allowed
    check_agreed(them, limiter, name, 7)
    assert them.take(name, 4)
    check_agreed(them, limiter, name, 3)
    refused = limiter.take(4)
    assert (refused.allowed, refused.granted, refused.remaining, refused.limit) == (False, 0, 3, 10)
    assert not them.take(name, 4)
    assert limiter.take(3).allowed
    assert not them.take(name)
    assert not limiter.take().allowed
    check_agreed(them, limiter, name, 0)


def test_ours_is_made_as_try_set_rate_makes_it(ours: Limits, them: RateHolder, wire: Wire, name: str) -> None:
    limiter = ours.limiter(name, 5, 60_000)
    assert limiter.peek().remaining == 5
    assert wire.command("EXISTS", name) == 0, "a look makes nothing"
    with pytest.raises(Refused, match="not initialized"):
        them.take(name)
    assert limiter.take(2).allowed
    assert not them.try_set(name, 7, HOUR), "it is there"
    assert them.config(name) == ("OVERALL", 5, 60_000)
    assert wire.fields(name) == {
        "rate": "5",
        "interval": "60000",
        "type": "0",
        "keepAliveTime": str(86_400_000 + 60_000),
    }
    assert them.take(name, 3)
    assert not them.take(name)
    assert ours.warnings() == 0


def test_the_rate_on_the_server_counts_and_is_told_once(ours: Limits, them: RateHolder, name: str) -> None:
    assert them.try_set(name, 3, HOUR)
    limiter = ours.limiter(name, 100, 1_000, "PER_CLIENT")
    decision = limiter.take(2)
    assert (decision.allowed, decision.limit, decision.remaining) == (True, 3, 1)
    assert not limiter.take(2).allowed
    never = limiter.take(4)
    assert (never.allowed, never.retry_after, never.limit, never.remaining) == (False, None, 3, 1)
    assert ours.warnings() == 1
    assert them.available(name) == 1


@pytest.mark.parametrize("who", ["ours", "theirs"])
def test_a_refusal_says_the_same_delay(ours: Limits, them: RateHolder, name: str, who: str) -> None:
    assert them.try_set(name, 5, 60_000)
    limiter = ours.limiter(name, 5, 60_000)
    # The oldest is one of either side.
    if who == "ours":
        assert limiter.take(5).allowed
    else:
        assert them.take(name, 5)
    for _ in range(5):
        refused = limiter.take()
        delay = them.delay(name)
        assert refused.retry_after is not None
        assert delay.ms is not None
        # Theirs is 3 ms more than what is left, by the clock of the JVM, in whole ms.
        due = (refused.server_time + refused.retry_after) / 1000
        earliest, latest = delay.before + delay.ms - 3, delay.after + delay.ms - 3
        assert earliest - 1 <= due <= latest + 1, (due, earliest, latest)
        time.sleep(0.05)  # so that the delays differ


def test_both_are_granted_when_it_is_due(ours: Limits, them: RateHolder, name: str) -> None:
    assert them.try_set(name, 4, 400)
    limiter = ours.limiter(name, 4, 400)
    for _ in range(5):
        begin = now_us()
        assert limiter.take(2, 10_000).allowed
        assert them.take(name, 2)
        assert not limiter.take(1).allowed or now_us() - begin >= 400_000, "more than the rate in an interval"
        limiter.tell_take(2, 10_000)
        them.tell_take(name, 2, 10_000)
        assert limiter.taken().allowed
        assert them.taken() is not None
        # Two intervals have begun, and one of them is over.
        assert now_us() - begin >= 400_000
        time.sleep(0.41)  # an interval, so that the next round begins with all permits


def test_both_sides_together_get_the_rate_and_no_more(
    clients: Callable[[], Limits], them: RateHolder, wire: Wire, name: str
) -> None:
    assert them.try_set(name, 20, 500)
    limiters = [clients().limiter(name, 20, 500) for _ in range(2)]
    seen: set[tuple[bytes, float]] = set()
    end = time.monotonic() + 3
    while time.monotonic() < end:
        for limiter in limiters:
            limiter.tell_take()
        them.tell_take(name)
        for limiter in limiters:
            limiter.taken()
        them.taken()
        seen.update(log(wire, f"{{{name}}}:permits"))
    at = sorted(score for _, score in seen)
    for first, after in zip(at, at[20:], strict=False):
        # A client of Redisson looks at its clock before it asks, and on a busy machine some ms before.
        assert after - first >= 450, "21 within an interval"
    assert len(at) >= 20 * 5, f"{len(at)} in 3 s"


def test_clients_have_their_own_of_both_sides(
    clients: Callable[[], Limits], theirs: Redisson, them: RateHolder, wire: Wire, name: str
) -> None:
    assert them.try_set(name, 4, HOUR, "PER_CLIENT")
    one, other = (clients().limiter(name, 4, HOUR, "PER_CLIENT") for _ in range(2))
    assert one.take(3).allowed
    assert them.take(name, 2)
    assert other.take(4).allowed
    assert (one.peek().remaining, them.available(name), other.peek().remaining) == (1, 2, 0)
    keys = {key for key in wire.all_keys() if name in key}
    assert keys > {name, f"{{{name}}}:value:{theirs.id}", f"{{{name}}}:permits:{theirs.id}"}
    assert len(keys) == 7, keys
    # Those of ours have ids of version 8, and end by themselves; those of Redisson stay.
    for key in keys - {name}:
        is_ours = not key.endswith(theirs.id)
        assert not is_ours or key.rpartition(":")[2][14] == "8"
        assert (wire.number("PTTL", key) > 0) == is_ours, key


def test_a_new_rate_of_theirs_counts_at_once(ours: Limits, them: RateHolder, name: str) -> None:
    assert them.try_set(name, 2, HOUR)
    limiter = ours.limiter(name, 2, HOUR)
    assert limiter.take(2).allowed
    # `setRate` forgets what was acquired.
    them.set(name, 5, HOUR)
    decision = limiter.take(4)
    assert (decision.allowed, decision.remaining, decision.limit) == (True, 1, 5)
    check_agreed(them, limiter, name, 1)
    # `updateRate` keeps it.
    assert them.update(name, 10, HOUR)
    check_agreed(them, limiter, name, 6)
    assert limiter.take(6).allowed
    assert them.update(name, 3, HOUR)
    assert not limiter.take().allowed
    assert ours.warnings() == 1, "the rate is no longer the given one"


def test_another_type_of_theirs_counts_at_once(ours: Limits, them: RateHolder, name: str) -> None:
    assert them.try_set(name, 2, HOUR)
    limiter = ours.limiter(name, 2, HOUR)
    assert limiter.take(2).allowed
    them.set(name, 2, HOUR, "PER_CLIENT")
    assert them.take(name, 2)
    assert limiter.take(2).allowed
    them.set(name, 2, HOUR)
    assert them.take(name)
    assert limiter.take().allowed
    assert not limiter.take().allowed


def test_their_keep_alive_time_is_honoured(ours: Limits, them: RateHolder, wire: Wire, name: str) -> None:
    assert them.try_set(name, 5, 1_000, keep_ms=5_000)
    limiter = ours.limiter(name, 5, 1_000)
    wire.command("PEXPIRE", name, "2000")
    keys = [name, f"{{{name}}}:value", f"{{{name}}}:permits"]
    takes: list[Callable[[], bool]] = [lambda: limiter.take().allowed, lambda: them.take(name)]
    for take in takes:
        assert take()
        assert all(4_000 < wire.number("PTTL", key) <= 5_000 for key in keys)
        for key in keys:
            wire.command("PEXPIRE", key, "3000")


def test_an_end_of_the_limiter_is_one_of_its_keys(ours: Limits, them: RateHolder, wire: Wire, name: str) -> None:
    assert them.try_set(name, 5, 1_000)
    limiter = ours.limiter(name, 5, 1_000)
    assert limiter.take().allowed
    keys = [f"{{{name}}}:value", f"{{{name}}}:permits"]
    assert all(wire.number("PTTL", key) == -1 for key in [name, *keys]), "Redisson's stays"
    assert them.expire(name, 60_000)
    assert limiter.take().allowed
    assert all(50_000 < wire.number("PTTL", key) <= 60_000 for key in [name, *keys])


def test_their_delete_is_a_new_limiter(ours: Limits, them: RateHolder, name: str) -> None:
    limiter = ours.limiter(name, 2, HOUR)
    assert limiter.take(2).allowed
    assert them.delete(name)
    assert limiter.peek().remaining == 2
    assert limiter.take(1).allowed
    check_agreed(them, limiter, name, 1)


def test_our_reset_is_one_for_them(ours: Limits, them: RateHolder, name: str) -> None:
    assert them.try_set(name, 2, HOUR)
    assert them.take(name, 2)
    ours.limiter(name, 2, HOUR).reset()
    assert them.available(name) == 2
    assert them.take(name, 2)


def test_members_have_the_same_bytes(ours: Limits, them: RateHolder, wire: Wire, name: str) -> None:
    assert them.try_set(name, 100_000, HOUR)
    limiter = ours.limiter(name, 100_000, HOUR)
    for count in [1, 255, 256, 65_536]:
        assert limiter.take(count).allowed
        assert them.take(name, 1)
    members = log(wire, f"{{{name}}}:permits")
    assert sorted(permits(member) for member, _ in members) == [1, 1, 1, 1, 1, 255, 256, 65_536]
    assert all(score == int(score) for _, score in members), "in whole ms"
    assert len({member[1:17] for member, _ in members}) == 8
    value = int(wire.text("GET", f"{{{name}}}:value"))
    assert value == 100_000 - sum(permits(member) for member, _ in members)


def test_a_prefix_of_theirs_is_ours(program: str, peer: Peer, fleet: Fleet, wire: Wire, name: str) -> None:
    redisson = peer.open(fleet.server.admin_url, prefix="app:")
    ours = Limits(program, f"{fleet.server.url}?key_prefix=app:")
    them = redisson.rate()
    assert them.try_set(name, 5, HOUR)
    assert ours.limiter(name, 5, HOUR).take(2).allowed
    assert them.available(name) == 3
    them.delete(name)
    them.end()
    ours.kill()
    redisson.close()
    assert not [key for key in wire.all_keys() if name in key]


def test_a_name_with_braces_is_the_same(ours: Limits, them: RateHolder, wire: Wire, name: str) -> None:
    tagged = f"{name}:{{42}}"
    assert them.try_set(tagged, 5, HOUR)
    assert ours.limiter(tagged, 5, HOUR).take(2).allowed
    assert them.available(tagged) == 3
    assert {key for key in wire.all_keys() if name in key} == {tagged, f"{tagged}:value", f"{tagged}:permits"}


def test_something_else_of_the_name_is_an_error(ours: Limits, them: RateHolder, wire: Wire, name: str) -> None:
    limiter = ours.limiter(name, 5, HOUR)
    wire.command("HSET", name, f"{them.owner}", "1")
    with pytest.raises(Refused, match="WrongType"):
        limiter.take()
    # Redisson's own writes what is missing into the lock of somebody else.
    assert them.try_set(name, 5, HOUR)
    assert set(wire.fields(name)) == {them.owner, "rate", "interval", "keepAliveTime", "type"}
    wire.command("DEL", name)
    wire.command("HSET", name, "rate", "5")
    with pytest.raises(Refused, match="WrongType"):
        limiter.take()
    wire.command("DEL", name)
    assert limiter.take().allowed
