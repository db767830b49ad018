"""A client made from docs/protocol alone stands in one queue with the library, and each keeps the place of the other."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import libdlock
import pytest
from helpers import Fleet, Start, eventually
from stranger import Stranger, queue_keys
from test_wakeup import BY_A_MESSAGE
from wire import Wire
from workers import LANGUAGES

GRANTED, BUSY, NOT_YOUR_TURN = 0, 1, 3
FREED = [1, 1, -1]

#: A head counts as dead after this silence, and the one behind it looks 1.2 s later at most; the rest is a busy machine's.
SILENCE, DROPPED = 2_500_000, 4_000_000  # us


@pytest.fixture
def stranger(fleet: Fleet) -> Iterator[Callable[[], Stranger]]:
    """Makes processes of the other client."""
    made: list[Stranger] = []

    def make() -> Stranger:
        made.append(Stranger(fleet.server.port))
        return made[-1]

    yield make
    for one in made:
        one.close()


@pytest.fixture
def wire(fleet: Fleet) -> Iterator[Wire]:
    with Wire(fleet.server.port) as wire:
        yield wire


def nothing_is_left(wire: Wire, lock: str) -> bool:
    """But the token."""
    return wire.number("EXISTS", lock, *queue_keys(lock)) == 0


def waiting(wire: Wire, lock: str, count: int) -> None:
    eventually(f"{count} wait", lambda: wire.command("ZCARD", queue_keys(lock)[0]) == count)


def now_us() -> int:
    """On the clock that the workers tell the time by."""
    return time.monotonic_ns() // 1000


@pytest.mark.parametrize("language", LANGUAGES)
def test_each_waits_for_the_other(fleet: Fleet, wire: Wire, stranger: Callable[[], Stranger], language: str) -> None:
    other, worker, lock = stranger(), fleet.worker(language, "waiter"), f"stranger-and-{language}"
    granted, _, first = other.acquire(lock)
    assert granted == GRANTED
    worker.tell(f"acquire {lock}")
    waiting(wire, lock, 1)
    called = now_us()
    assert other.release(lock) == FREED
    _, acquired, second = worker.answer()
    assert int(acquired) - called < BY_A_MESSAGE, "told, and not found by a poll"

    busy, _, _, holder, rank = other.acquire(lock)
    assert (busy, rank) == (BUSY, 0)
    assert str(holder)[14] == "8", "a client of libdlock"
    worker.ask(f"release {lock}")
    assert other.message() == f"free;{lock}"
    granted, _, third = other.acquire(lock)
    assert granted == GRANTED
    assert int(str(first)) < int(second) < int(str(third)), "fencing tokens increase"
    assert other.release(lock) == FREED
    assert nothing_is_left(wire, lock)


def test_everybody_comes_in_the_order_in_which_they_queued(
    fleet: Fleet, wire: Wire, stranger: Callable[[], Stranger]
) -> None:
    lock, ours, last = "stranger-in-order", fleet.worker("Python", "waiter"), fleet.worker("Python", "holder")
    first, second, third = stranger(), stranger(), stranger()
    first.acquire(lock)
    ours.tell(f"acquire {lock}")
    waiting(wire, lock, 1)
    assert second.acquire(lock)[4] == 1
    assert third.acquire(lock)[4] == 2
    last.tell(f"acquire {lock}")
    waiting(wire, lock, 4)

    first.release(lock)
    assert ours.answer()[0] == "acquired"
    assert third.message() == f"next;{lock}", "the take has moved it up"
    ours.ask(f"release {lock}")
    assert second.message() == f"free;{lock}"
    assert second.cancel(lock)[2] == 1
    assert third.message() == f"free;{lock}", "the head has left"
    assert third.acquire(lock)[0] == GRANTED
    called = now_us()
    third.release(lock)
    assert int(last.answer()[1]) - called < BY_A_MESSAGE
    last.ask(f"release {lock}")
    assert nothing_is_left(wire, lock)


def test_a_release_that_joins_goes_behind_those_who_wait(fleet: Fleet, wire: Wire, stranger: Callable[[], Stranger]) -> None:
    lock, ours, other = "stranger-again", fleet.worker("Python", "waiter"), stranger()
    other.acquire(lock)
    ours.tell(f"acquire {lock}")
    waiting(wire, lock, 1)
    assert other.release(lock, rejoin=True) == [1, 1, 1]
    assert ours.answer()[0] == "acquired"
    ours.ask(f"release {lock}")
    assert other.message() == f"free;{lock}"
    assert other.acquire(lock)[0] == GRANTED
    other.release(lock)
    assert nothing_is_left(wire, lock)


def test_a_head_that_is_gone_is_dropped(fleet: Fleet, wire: Wire, stranger: Callable[[], Stranger], start: Start) -> None:
    # With the timers as they are by default.
    ours = start("Python", fleet.server.url)
    lock, holder, gone = "stranger-gone", stranger(), stranger()
    holder.acquire(lock)
    asked = now_us()
    assert gone.acquire(lock)[4] == 0
    ours.tell(f"acquire {lock}")
    waiting(wire, lock, 2)
    called = now_us()
    holder.release(lock)
    acquired = int(ours.answer()[1])
    assert acquired - asked >= SILENCE, "not before it counts as dead"
    assert acquired - called < DROPPED
    ours.ask(f"release {lock}")
    assert nothing_is_left(wire, lock)


def test_a_third_try_respects_who_waits(fleet: Fleet, wire: Wire, stranger: Callable[[], Stranger]) -> None:
    lock, hasty, waits = "stranger-tries", stranger(), stranger()
    hasty.acquire(lock)
    waits.acquire(lock)
    for _ in range(2):
        hasty.release(lock)
        assert hasty.acquire(lock, waits=False)[0] == GRANTED
    hasty.release(lock)
    reply = hasty.acquire(lock, waits=False)
    assert (reply[0], reply[2]) == (NOT_YOUR_TURN, -1)
    with libdlock.connect(fleet.server.url) as client:
        assert not client.lock(lock).acquire(blocking=False), "the count is everybody's"
    assert waits.acquire(lock)[0] == GRANTED
    waits.release(lock)
    assert nothing_is_left(wire, lock)
