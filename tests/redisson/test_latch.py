"""Latches of ours and RCountDownLatches of one name are one latch."""

from __future__ import annotations

import time
from collections.abc import Iterator

import libdlock
import pytest
from helpers import SOON, Fleet, eventually
from redisson import LatchHolder, Redisson, Refused
from sides import Started, Thread, check_woken, now_us
from wire import Wire

#: A round trip and a wake-up on a busy machine, far below our poll of 30 s; Redisson has none.
ROUNDS = 10


@pytest.fixture
def them(theirs: Redisson, wire: Wire, name: str) -> Iterator[LatchHolder]:
    holder = theirs.latch()
    yield holder
    holder.end()
    # An open latch has no key; what was carried out is remembered for a minute.
    assert wire.command("EXISTS", name) == 0
    wire.command("DEL", f"dlock_latch_done:{{{name}}}")


def channel(name: str) -> str:
    return f"redisson_countdownlatch__channel__{{{name}}}"


def listening(fleet: Fleet, name: str, processes: int = 1) -> None:
    eventually("whoever waits listens", lambda: fleet.server.listeners(channel(name)) == processes)


def opens(latch: libdlock.Latch, thread: Thread) -> Started[bool]:
    """Waits for it on that thread."""
    return thread.start(lambda: latch.wait(timeout=SOON))


def test_both_sides_count_the_same_latch(ours: libdlock.Client, them: LatchHolder, name: str) -> None:
    latch = ours.latch(name)
    assert latch.try_set_count(4)
    assert them.count(name) == 4
    assert not them.set_count(name, 9), "it has a count"
    them.count_down(name)
    assert latch.count() == 3
    assert latch.count_down(2) == 1
    assert them.wait(name, wait_ms=50) is None
    assert not latch.wait(timeout=0.05)
    them.count_down(name)
    assert latch.wait(timeout=0)
    assert them.wait(name) is not None
    assert them.set_count(name, 1), "open, and so it can be set"
    assert not latch.try_set_count(1)
    assert latch.count_down() == 0
    assert them.count(name) == 0


def test_the_last_count_of_theirs_wakes_us(
    ours: libdlock.Client, them: LatchHolder, here: Thread, fleet: Fleet, name: str
) -> None:
    latch = ours.latch(name)
    took = []
    for _ in range(ROUNDS):
        assert them.set_count(name, 2)
        waits = opens(latch, here)
        listening(fleet, name)
        them.count_down(name)
        called = them.count_down(name)
        at, opened = waits.ended()
        assert opened
        took.append(at - called)
        eventually("nobody listens", lambda: fleet.server.listeners(channel(name)) == 0)
    check_woken(took)


def test_the_last_count_of_ours_wakes_them(ours: libdlock.Client, them: LatchHolder, fleet: Fleet, name: str) -> None:
    latch = ours.latch(name)
    took = []
    for _ in range(ROUNDS):
        assert latch.try_set_count(2)
        them.tell_wait(name)
        listening(fleet, name)
        latch.count_down()
        called = now_us()
        assert latch.count_down() == 0
        at = them.opened()
        assert at is not None
        took.append(at - called)
        eventually("nobody listens", lambda: fleet.server.listeners(channel(name)) == 0)
    check_woken(took)


def test_one_count_wakes_all_of_both_sides(
    ours: libdlock.Client, theirs: Redisson, them: LatchHolder, fleet: Fleet, name: str
) -> None:
    latch, others = ours.latch(name), [theirs.latch() for _ in range(5)]
    for each in (them.count_down, lambda _: latch.count_down()):
        assert latch.try_set_count(1)
        waiting = [opens(latch, Thread()) for _ in range(5)]
        for other in others:
            other.tell_wait(name)
        listening(fleet, name, processes=2)
        called = now_us()
        each(name)
        opened = [other.opened() for other in others] + [at for at, _ in (one.ended() for one in waiting)]
        assert all(at is not None and at >= called for at in opened), (called, opened)
        eventually("nobody listens", lambda: fleet.server.listeners(channel(name)) == 0)
    for other in others:
        other.end()


def test_alternating_latches(
    request: pytest.FixtureRequest, ours: libdlock.Client, them: LatchHolder, theirs: Redisson, here: Thread, name: str
) -> None:
    """A latch of two: both sides wait, both count, each is the last one in turn. Nobody may pass before that."""
    latch, waiter = ours.latch(name), theirs.latch()
    rounds: int = request.config.getoption("--handovers")
    for each in range(rounds):
        assert latch.try_set_count(2) if each % 2 else them.set_count(name, 2)
        waiting = opens(latch, here)
        waiter.tell_wait(name)
        if each % 4 < 2:
            assert latch.count_down() == 1
            last = them.count_down(name)
        else:
            them.count_down(name)
            last = now_us()
            assert latch.count_down() == 0
        at, opened = waiting.ended()
        their_end = waiter.opened()
        assert opened
        assert their_end is not None
        assert last <= min(at, their_end), f"round {each}: somebody passed before the last count"
    waiter.end()


def test_a_latch_that_they_remove_is_open_to_us(fleet: Fleet, them: LatchHolder, here: Thread, name: str) -> None:
    with libdlock.connect(fleet.server.url, poll_interval=0.1) as client:
        latch = client.latch(name)
        assert latch.try_set_count(2)
        waits = opens(latch, here)
        listening(fleet, name)
        assert them.delete(name)
        _, opened = waits.ended()
        assert opened, "found by a look, since the message says only that it has changed"


@pytest.mark.parametrize("side", ["theirs", "ours"])
def test_nobody_of_theirs_is_woken_by_a_removal(
    ours: libdlock.Client, theirs: Redisson, them: LatchHolder, fleet: Fleet, name: str, side: str
) -> None:
    """Whoever has to be let through counts down. A wait of theirs looks again when its time is over."""
    latch, waiter = ours.latch(name), theirs.latch()
    assert latch.try_set_count(1)
    waiter.tell_wait(name, wait_ms=1_500)
    listening(fleet, name)
    time.sleep(0.3)  # it looks once more when it listens, and sleeps then
    removed = now_us()
    assert latch.delete() if side == "ours" else them.delete(name)
    at = waiter.opened()
    assert at is not None
    assert at - removed > 800_000, "it slept until its time was over"
    waiter.end()


def test_a_count_that_is_too_large_for_us_is_told(ours: libdlock.Client, them: LatchHolder, name: str) -> None:
    latch = ours.latch(name)
    assert them.set_count(name, 2**53)
    for call in (latch.count, latch.count_down, lambda: latch.wait(timeout=0)):
        with pytest.raises(libdlock.WrongType):
            call()
    assert them.count(name) == 2**53
    assert them.delete(name)


def test_a_semaphore_of_theirs_under_our_latch_is_a_count(
    ours: libdlock.Client, them: LatchHolder, theirs: Redisson, name: str
) -> None:
    """An RSemaphore and an RCountDownLatch of one name cannot be told apart by anybody, as with Redisson alone."""
    semaphore = theirs.counting()
    assert semaphore.set_total(name, 3)
    assert (ours.latch(name).count(), them.count(name)) == (3, 3)
    assert them.delete(name)
    semaphore.end()


def test_a_lock_of_theirs_under_our_latch_is_told(
    ours: libdlock.Client, them: LatchHolder, theirs: Redisson, name: str
) -> None:
    lock = theirs.thread()
    lock.acquire(name)
    with pytest.raises(libdlock.WrongType):
        ours.latch(name).try_set_count(2)
    with pytest.raises(Refused, match="WRONGTYPE"):
        them.count(name)
    lock.release(name)
