"""What a holder has in hand in Python; what is the same in every language is in tests/scenarios."""

from __future__ import annotations

import dataclasses
import threading
from datetime import timedelta

import pytest

import libdlock


def test_a_hold_knows_token_owner_and_time(client: libdlock.Client, name: str) -> None:
    with client.lock(name, lease=20) as held:
        assert isinstance(held.token, int)
        assert 0 < held.token < 2**53
        assert ":" in held.owner
        assert held.valid
        assert 18 < held.remaining <= 20
        assert not held.lost.is_set()
        assert held.lost.reason is None
        assert held.lost.wait(0.01) is False
    assert not held.valid
    assert held.remaining == 0


def test_the_hold_after_acquire(client: libdlock.Client, name: str) -> None:
    lock = client.lock(name)
    assert lock.held is None
    assert lock.acquire()
    held = lock.held
    assert held is not None
    assert held.valid
    held.release()
    assert lock.held is None
    with pytest.raises(libdlock.NotHeld):
        held.release()


def test_a_lease_may_be_a_timedelta_and_is_not_renewed(client: libdlock.Client, name: str) -> None:
    with client.lock(name, lease=timedelta(seconds=5)) as held:
        assert 4 < held.remaining <= 5


def test_extend(client: libdlock.Client, name: str) -> None:
    lock = client.lock(name, lease=2)
    with lock as held:
        held.extend(30)
        assert 28 < held.remaining <= 30
        lock.extend(timedelta(seconds=60))
        assert 57 < held.remaining <= 60
    with pytest.raises(libdlock.NotHeld):
        lock.extend(5)


def test_inspect(client: libdlock.Client, other: libdlock.Client, name: str) -> None:
    free = client.lock(name).inspect()
    assert (free.holder, free.ttl) == (None, None)
    with client.lock(name, lease=20) as held:
        for mine in (client, other):
            seen = mine.lock(name).inspect()
            assert (seen.holder, seen.token, seen.ours) == (held.owner, held.token, mine is client)
            assert seen.ttl is not None
            assert 18 < seen.ttl <= 20
        with pytest.raises(dataclasses.FrozenInstanceError):
            seen.ttl = 1.0  # type: ignore[misc]


def test_lost_wakes_a_waiting_thread_when_the_client_closes(url: str, name: str) -> None:
    client = libdlock.connect(url)
    lock = client.lock(name)
    assert lock.acquire()
    held = lock.held
    assert held is not None
    began = threading.Event()
    woken: list[bool] = []

    def wait() -> None:
        began.set()
        woken.append(held.lost.wait(10))

    thread = threading.Thread(target=wait)
    thread.start()
    began.wait(10)
    client.close()
    thread.join(5)
    assert woken == [True]
    assert held.lost.reason == "closed"
