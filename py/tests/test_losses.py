"""A loss is told once; then the holder acquires anew, and no scope of the lost hold ends the new one."""

from __future__ import annotations

import asyncio

import pytest

import libdlock
from libdlock import aio


def lose(lock: libdlock.Lock) -> None:
    """Waits until the calling thread's hold is over for good: its key is gone, and its validity."""
    held = lock.held
    assert held is not None
    assert held.lost.wait(5)
    while held.valid:
        pass  # 25 ms at most, and nothing tells of it


@pytest.fixture
def lock(client: libdlock.Client, name: str) -> libdlock.Lock:
    return client.lock(name, lease=0.2, wait=5)


def test_after_hold_count_said_no_the_thread_acquires_anew(lock: libdlock.Lock) -> None:
    for _ in range(3):
        assert lock.acquire()
        lose(lock)
        if lock.hold_count:  # the idiom that never releases a lost hold
            lock.release()
    assert lock.acquire() and lock.hold_count == 1
    lock.release()


def test_held_is_none_after_a_loss_and_then_the_thread_acquires_anew(lock: libdlock.Lock) -> None:
    assert lock.acquire()
    lose(lock)
    assert lock.held is None
    assert lock.acquire()
    assert lock.held is not None and lock.held.valid
    lock.release()


def test_held_is_none_as_soon_as_the_loss_is_announced(lock: libdlock.Lock) -> None:
    assert lock.acquire()
    held = lock.held
    assert held is not None and held.lost.wait(5)
    assert lock.held is None


def test_an_exception_tells_a_loss_once(lock: libdlock.Lock) -> None:
    assert lock.acquire()
    held = lock.held
    lose(lock)
    with pytest.raises(libdlock.LockLost):
        lock.acquire()
    assert lock.acquire(), "a loss is told once"
    assert held is not None
    with pytest.raises(libdlock.NotHeld):
        held.release()  # the lost one's; the new one stays
    assert lock.hold_count == 1
    lock.release()


def test_a_scope_of_the_lost_hold_never_releases_the_new_one(
    lock: libdlock.Lock, other: libdlock.Client
) -> None:
    with pytest.raises(libdlock.NotHeld, match=r"lost|any more"), lock:
        lose(lock)
        assert lock.hold_count == 0
        assert lock.acquire()
    assert lock.hold_count == 1
    assert other.lock(lock.name).locked()
    lock.release()


def test_nested_scopes_each_end_their_own(lock: libdlock.Lock) -> None:
    with pytest.raises(libdlock.NotHeld), lock as first, lock:
        lose(lock)
        assert lock.hold_count == 0
        with lock as second:
            assert second.token > first.token and lock.hold_count == 1
            second.extend(5)
        assert lock.hold_count == 0
    assert lock.acquire(timeout=1) and lock.hold_count == 1
    lock.release()


def test_a_scope_ends_what_was_released_and_acquired_again_in_it(lock: libdlock.Lock) -> None:
    with lock as first:
        lock.release()
        assert lock.acquire()
        assert lock.held is not None and lock.held.token > first.token
    assert lock.hold_count == 0 and not lock.locked()


async def test_a_task_s_scope_of_a_lost_hold_never_releases_the_new_one(
    aio_client: aio.Client, name: str
) -> None:
    lock = aio_client.lock(name, lease=0.2, wait=5)
    with pytest.raises(libdlock.NotHeld):
        async with lock as held:
            assert await held.lost.wait(5)
            while held.valid:
                await asyncio.sleep(0)
            assert lock.held is None and lock.hold_count == 0
            assert await lock.acquire()
            with pytest.raises(libdlock.NotHeld):
                await held.release()
    assert lock.hold_count == 1
    await lock.release()
