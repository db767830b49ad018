"""Whoever holds the lock, the other side cannot have it."""

from __future__ import annotations

import libdlock
import pytest
from redisson import Redisson
from sides import Thread

#: The locks of Redisson that are an RLock on the wire.
KINDS = ["lock", "fenced", "spin", "nonreentrant"]


@pytest.mark.parametrize("kind", KINDS)
def test_our_lock_keeps_redisson_out(ours: libdlock.Client, theirs: Redisson, here: Thread, name: str, kind: str) -> None:
    lock, them = ours.lock(name), theirs.thread(kind)
    assert here.run(lock.acquire)
    assert not them.attempt(name)
    assert not them.attempt(name, wait_ms=100)
    here.run(lock.release)
    assert them.attempt(name)
    them.release(name)


@pytest.mark.parametrize("kind", KINDS)
def test_redissons_lock_keeps_us_out(ours: libdlock.Client, theirs: Redisson, name: str, kind: str) -> None:
    lock, them = ours.lock(name), theirs.thread(kind)
    them.acquire(name)
    assert not lock.acquire(blocking=False)
    assert not lock.acquire(timeout=0.1)
    with pytest.raises(libdlock.AcquireTimeout, match=them.owner), ours.lock(name, wait=0):
        pass
    them.release(name)
    assert lock.acquire(blocking=False)
    lock.release()


def test_a_multi_lock_with_one_of_ours_in_it_is_all_or_nothing(ours: libdlock.Client, theirs: Redisson, name: str) -> None:
    first, second = ours.lock(f"{name}-1"), ours.lock(f"{name}-2")
    both, them = f"{first.name},{second.name}", theirs.thread("multi")
    with second:
        assert not them.attempt(both)
        assert not first.locked(), "what it took before it met ours was given back"
    assert them.attempt(both)
    assert not first.acquire(blocking=False)
    assert not second.acquire(blocking=False)
    them.release(both)
    with first, second:
        pass
