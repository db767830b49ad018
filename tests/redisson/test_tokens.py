"""Redisson's fenced lock and ours count one token on, whoever comes first."""

from __future__ import annotations

from collections.abc import Iterator

import libdlock
import pytest
from helpers import Fleet
from redisson import Redisson
from sides import Thread
from wire import Wire

#: Ours start from the clock in microseconds, which had 16 digits already in 2001.
FIRST = 10**15


@pytest.fixture
def keeping(fleet: Fleet) -> Iterator[libdlock.Client]:
    """A client of ours as a fleet with fenced locks should have it."""
    with libdlock.connect(fleet.server.url, token_ttl="none") as client:
        yield client


def token_key(name: str) -> str:
    return f"redisson_lock_token:{{{name}}}"


def given(lock: libdlock.Lock) -> int:
    with lock as held:
        return held.token


def increasing(tokens: list[int | None]) -> bool:
    known = [token for token in tokens if token is not None]
    return len(known) == len(tokens) and known == sorted(set(known))


def test_theirs_first(keeping: libdlock.Client, theirs: Redisson, wire: Wire, name: str) -> None:
    lock, them = keeping.lock(name), theirs.thread("fenced")
    tokens: list[int | None] = []
    for _ in range(3):
        tokens.append(them.acquire(name).token)
        them.release(name)
        tokens.append(given(lock))
    assert tokens[0] == 1
    assert tokens[1] is not None
    assert tokens[1] > FIRST
    assert increasing(tokens), tokens
    assert wire.number("PTTL", token_key(name)) == -1


def test_ours_first(keeping: libdlock.Client, theirs: Redisson, wire: Wire, name: str) -> None:
    lock, them = keeping.lock(name), theirs.thread("fenced")
    tokens: list[int | None] = []
    for _ in range(3):
        tokens.append(given(lock))
        tokens.append(them.acquire(name).token)
        them.release(name)
    assert tokens[0] is not None
    assert tokens[1] == tokens[0] + 1, "theirs counts on from ours"
    assert increasing(tokens), tokens
    assert wire.number("PTTL", token_key(name)) == -1


def test_a_re_entry_of_theirs_takes_a_token_too(keeping: libdlock.Client, theirs: Redisson, name: str) -> None:
    lock, them = keeping.lock(name), theirs.thread("fenced")
    tokens: list[int | None] = [given(lock), them.acquire(name).token, them.acquire(name).token]
    them.release(name)
    them.release(name)
    tokens.append(given(lock))
    assert increasing(tokens), tokens


def test_a_re_entry_of_ours_keeps_its_token(keeping: libdlock.Client, theirs: Redisson, here: Thread, name: str) -> None:
    lock, them = keeping.lock(name), theirs.thread("fenced")

    def token() -> int:
        assert lock.held is not None
        return lock.held.token

    here.run(lock.acquire)
    first = here.run(token)
    here.run(lock.acquire)
    assert here.run(token) == first
    assert them.token(name) == first
    here.run(lock.release)
    here.run(lock.release)
    assert them.acquire(name).token == first + 1
    them.release(name)


def test_they_may_keep_the_key_for_us(ours: libdlock.Client, theirs: Redisson, wire: Wire, name: str) -> None:
    """Their key has no time to live, and a client of ours that would give it one leaves it so."""
    them = theirs.thread("fenced")
    them.acquire(name)
    them.release(name)
    assert given(ours.lock(name)) > FIRST
    assert wire.number("PTTL", token_key(name)) == -1


def test_why_a_fleet_with_fenced_locks_sets_token_ttl_to_none(
    ours: libdlock.Client, theirs: Redisson, wire: Wire, name: str
) -> None:
    them = theirs.thread("fenced")
    first = given(ours.lock(name))
    assert 3_500_000 < wire.number("PTTL", token_key(name)) <= 3_600_000, "an hour, unless told otherwise"
    assert them.acquire(name).token == first + 1
    them.release(name)
    assert wire.number("PTTL", token_key(name)) > 0, "theirs does not change that"
    wire.command("DEL", token_key(name))  # as that hour would
    assert them.acquire(name).token == 1, "theirs knows nothing of the clock: the token fell"
    them.release(name)
    assert given(ours.lock(name)) > first + 1, "ours does"
