"""`Lock` means what `threading.RLock` means."""

from __future__ import annotations

import threading
from datetime import timedelta
from typing import Any

import pytest

import libdlock


def in_thread(function: object) -> object:
    """Runs `function` in a thread of its own and returns what it returned."""
    results: list[object] = []
    assert callable(function)
    thread = threading.Thread(target=lambda: results.append(function()))
    thread.start()
    thread.join(10)
    return results[0]


def test_acquire_and_release(client: libdlock.Client, name: str) -> None:
    lock = client.lock(name)
    assert lock.acquire() is True
    assert lock.locked()
    lock.release()
    assert not lock.locked()


def test_the_holder_may_enter_again_and_must_leave_as_often(client: libdlock.Client, name: str) -> None:
    lock = client.lock(name)
    with lock as outer, lock as inner:
        assert outer.token == inner.token
        assert lock.hold_count == 2
    assert lock.hold_count == 0
    assert not lock.locked()


def test_re_entry_10_000_deep(client: libdlock.Client, name: str) -> None:
    lock = client.lock(name)
    for _ in range(10_000):
        assert lock.acquire()
    assert lock.hold_count == 10_000
    for _ in range(10_000):
        lock.release()
    assert not lock.locked()
    with pytest.raises(libdlock.NotHeld):
        lock.release()


def test_two_objects_of_one_name_are_one_lock(client: libdlock.Client, name: str) -> None:
    first = client.lock(name)
    with first:
        with client.lock(name):
            assert first.hold_count == 2
        assert first.hold_count == 1
    first.acquire()
    client.lock(name).release()
    assert not first.locked()


def test_another_thread_is_another_holder(client: libdlock.Client, name: str) -> None:
    lock = client.lock(name)
    with lock:
        assert in_thread(lambda: lock.acquire(blocking=False)) is False
        assert in_thread(lambda: lock.hold_count) == 0

        def release() -> object:
            with pytest.raises(libdlock.NotHeld):
                lock.release()
            return True

        assert in_thread(release) is True
        assert lock.locked()


def test_without_re_entry_the_holder_gets_deadlock_at_once(client: libdlock.Client, name: str) -> None:
    lock = client.lock(name, reentrant=False)
    with lock:
        with pytest.raises(libdlock.Deadlock) as caught:
            lock.acquire()
        with pytest.raises(RuntimeError):
            lock.acquire(blocking=False)
        assert lock.hold_count == 1
    assert (caught.value.kind, caught.value.name) == ("DEADLOCK", name)


def test_release_without_acquire_is_a_runtime_error(client: libdlock.Client, name: str) -> None:
    lock = client.lock(name)
    with pytest.raises(RuntimeError) as caught:
        lock.release()
    assert isinstance(caught.value, libdlock.NotHeld)
    assert (caught.value.op, caught.value.name, caught.value.code) == ("release", name, -3)


@pytest.mark.parametrize("timeout", [0, 0.0, 5, 0.5, -2, timedelta(seconds=1)])
def test_a_timeout_without_blocking_is_refused_as_in_cpython(
    client: libdlock.Client, name: str, timeout: float
) -> None:
    native = threading.RLock()
    if not isinstance(timeout, timedelta):
        with pytest.raises(ValueError):
            native.acquire(blocking=False, timeout=timeout)
    with pytest.raises(ValueError) as caught:
        client.lock(name).acquire(blocking=False, timeout=timeout)
    assert isinstance(caught.value, libdlock.InvalidArgument)


def test_acquire_takes_its_arguments_as_rlock_does(client: libdlock.Client, name: str) -> None:
    lock = client.lock(name)
    ways: list[tuple[Any, ...]] = [
        (),
        (True,),
        (True, -1),
        (True, 5),
        (1, 0),
        (False,),
        (False, -1),
        (0, -1.0),
    ]
    for arguments in ways:
        assert threading.RLock().acquire(*arguments)
        assert lock.acquire(*arguments)
        lock.release()
    assert lock.acquire(timeout=None) and lock.acquire(
        False, None
    )  # more than RLock takes: for ever, and not at all
    lock.release()
    lock.release()
    with pytest.raises(TypeError):
        lock.acquire(timeout="1")  # type: ignore[arg-type]


def test_busy_is_false_from_acquire_and_an_exception_from_with(
    client: libdlock.Client, other: libdlock.Client, name: str
) -> None:
    with client.lock(name):
        assert other.lock(name).acquire(blocking=False) is False
        assert other.lock(name).acquire(timeout=0.05) is False
        assert other.lock(name).acquire(timeout=timedelta(milliseconds=50)) is False
        for wait in (0, 0.05):
            with pytest.raises(TimeoutError) as caught, other.lock(name, wait=wait):
                pass
            assert isinstance(caught.value, libdlock.AcquireTimeout)
            assert (caught.value.kind, caught.value.name) == ("BUSY", name)
    with other.lock(name, wait=0):
        pass


def test_a_wait_ends_with_the_release(client: libdlock.Client, other: libdlock.Client, name: str) -> None:
    waiting = threading.Event()
    tokens: list[int] = []

    def wait() -> None:
        waiting.set()
        with other.lock(name, wait=10) as held:
            tokens.append(held.token)

    with client.lock(name) as held:
        thread = threading.Thread(target=wait)
        thread.start()
        waiting.wait(10)
        assert not tokens
    thread.join(10)
    assert tokens[0] > held.token


def test_a_counter_guarded_by_the_lock_ends_exact(
    client: libdlock.Client, other: libdlock.Client, name: str
) -> None:
    count = 0
    tokens: list[int] = []

    def work(mine: libdlock.Client) -> None:
        nonlocal count
        lock = mine.lock(name)
        for _ in range(100):
            with lock as held:
                tokens.append(held.token)
                seen = count
                held.valid  # noqa: B018  a call that releases the GIL between the read and the write
                count = seen + 1

    threads = [threading.Thread(target=work, args=(mine,)) for mine in (client, other) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert count == 800
    assert tokens == sorted(set(tokens))
