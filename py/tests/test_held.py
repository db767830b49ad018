"""What a holder has in hand, and what can be asked and done about a lock."""

from __future__ import annotations

import dataclasses
import threading
import time
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


def test_tokens_grow(client: libdlock.Client, other: libdlock.Client, name: str) -> None:
    tokens = []
    for mine in (client, other, client):
        with mine.lock(name) as held:
            tokens.append(held.token)
    assert tokens == sorted(set(tokens))


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


def test_a_watchdog_lease_is_renewed(url: str, name: str) -> None:
    with libdlock.connect(url, lease=0.6) as client, client.lock(name) as held:
        assert not held.lost.wait(2)  # three leases
        assert held.valid


def test_a_given_lease_runs_out(url: str, client: libdlock.Client, other: libdlock.Client, name: str) -> None:
    lock = client.lock(name, lease=0.3)
    assert lock.acquire()
    held = lock.held
    assert held is not None
    began = time.monotonic()
    assert held.lost.wait(5)
    assert time.monotonic() - began < 0.3
    assert held.lost.is_set()
    assert held.lost.reason == "expired"
    with other.lock(name, wait=5) as taken:
        assert taken.token > held.token
        with pytest.raises(libdlock.DlockError) as caught:
            lock.release()
        assert isinstance(caught.value, libdlock.NotHeld | libdlock.LockLost)
        assert other.lock(name).hold_count == 1
        assert taken.valid


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


def test_force_release_frees_it_whoever_holds_it(
    client: libdlock.Client, other: libdlock.Client, name: str
) -> None:
    lock = client.lock(name)
    assert lock.acquire()
    assert other.lock(name).force_release() is True
    assert other.lock(name).force_release() is False
    with other.lock(name, wait=0):
        pass
    with pytest.raises(libdlock.DlockError):
        lock.release()


def test_a_deleted_key_is_noticed_at_the_next_renewal(url: str, name: str) -> None:
    with libdlock.connect(url, lease=0.6) as client, libdlock.connect(url) as other:
        lock = client.lock(name)
        assert lock.acquire()
        held = lock.held
        assert held is not None
        assert other.lock(name).force_release()
        assert held.lost.wait(2)
        assert held.lost.reason in ("deleted", "taken", "server_changed")
        assert not held.valid
        with pytest.raises(libdlock.DlockError):
            lock.release()


def test_a_hold_goes_to_another_client_on_purpose(
    client: libdlock.Client, other: libdlock.Client, name: str
) -> None:
    lock = client.lock(name)
    assert lock.acquire()
    token = lock.held.token if lock.held else 0
    text = lock.detach()
    assert lock.hold_count == 0
    with pytest.raises(libdlock.NotHeld):
        lock.release()
    assert other.lock(name).locked()
    held = other.lock(name).attach(text)
    assert held.token == token
    assert held.valid
    held.release()
    assert not client.lock(name).locked()


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
