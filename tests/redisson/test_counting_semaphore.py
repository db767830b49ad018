"""Counting semaphores of ours and RSemaphores of one name are one semaphore."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import libdlock
import pytest
from helpers import SOON, Fleet, eventually
from redisson import CountingHolder, Redisson
from sides import BY_A_MESSAGE, Hold, Thread, check_disjoint, check_woken, now_us
from wire import Wire

#: A round trip and a wake-up on a busy machine, far below our poll of 30 s; Redisson has none.
ROUNDS = 10


@pytest.fixture
def them(theirs: Redisson, wire: Wire, name: str) -> Iterator[CountingHolder]:
    holder = theirs.counting()
    yield holder
    holder.end()
    # A semaphore stays; of the queue nothing does. What was carried out is remembered for a minute.
    wire.command("DEL", name, f"dlock_counting_done:{{{name}}}")


def channel(name: str) -> str:
    return f"redisson_sc:{{{name}}}"


def listening(fleet: Fleet, name: str) -> None:
    eventually("whoever waits listens", lambda: fleet.server.listeners(channel(name)) > 0)


def nobody_listens(fleet: Fleet, name: str) -> None:
    eventually("nobody listens", lambda: fleet.server.listeners(channel(name)) == 0)


def test_permits_of_both_sides_count(ours: libdlock.Client, them: CountingHolder, name: str) -> None:
    semaphore = ours.counting_semaphore(name)
    assert them.set_total(name, 3)
    assert not semaphore.try_set_permits(5), "it is there"
    semaphore.acquire(2)
    assert them.available(name) == 1
    assert them.take(name, 2) is None
    assert them.take(name) is not None
    assert not semaphore.try_acquire()
    semaphore.release(3)
    assert (them.available(name), semaphore.inspect().available) == (3, 3)


def test_anybody_gives_back_what_the_other_side_acquired(ours: libdlock.Client, them: CountingHolder, name: str) -> None:
    semaphore = ours.counting_semaphore(name)
    assert semaphore.try_set_permits(1)
    assert them.take(name) is not None
    semaphore.release()
    semaphore.acquire()
    them.give(name, 2)
    assert semaphore.inspect().available == 2, "nobody says how many there were"


def test_what_is_added_and_drained_counts_for_both(ours: libdlock.Client, them: CountingHolder, name: str) -> None:
    semaphore = ours.counting_semaphore(name)
    them.add(name, 3)
    semaphore.add_permits(-5)
    assert (them.available(name), semaphore.inspect().available) == (-2, -2)
    assert them.take(name) is None
    assert not semaphore.try_acquire()
    assert semaphore.drain() == -2
    assert them.available(name) == 0
    them.add(name, -4)
    assert semaphore.inspect().available == -4
    assert them.drain(name) == -4
    semaphore.add_permits(2)
    assert them.drain(name) == 2


def test_their_release_wakes_us(ours: libdlock.Client, them: CountingHolder, here: Thread, fleet: Fleet, name: str) -> None:
    semaphore = ours.counting_semaphore(name)
    assert them.set_total(name, 0)
    took = []
    for _ in range(ROUNDS):
        waits = here.start(semaphore.acquire)
        eventually("we wait in the queue", lambda: semaphore.inspect().queued == 1)
        listening(fleet, name)
        called = them.give(name)
        at, _ = waits.ended()
        took.append(at - called)
        nobody_listens(fleet, name)
    check_woken(took)


def test_our_release_wakes_them(ours: libdlock.Client, them: CountingHolder, fleet: Fleet, name: str) -> None:
    semaphore = ours.counting_semaphore(name)
    assert semaphore.try_set_permits(0)
    took = []
    for _ in range(ROUNDS):
        them.tell_take(name, wait_ms=-1)
        listening(fleet, name)
        called = now_us()
        semaphore.release()
        at = them.taken()
        assert at is not None
        took.append(at - called)
        nobody_listens(fleet, name)
    check_woken(took)


@pytest.mark.parametrize("how", ["made", "added"])
def test_new_permits_wake_both_sides(
    ours: libdlock.Client, theirs: Redisson, them: CountingHolder, here: Thread, fleet: Fleet, name: str, how: str
) -> None:
    semaphore, other = ours.counting_semaphore(name), theirs.counting()
    makes: dict[str, tuple[Callable[[], object], Callable[[], object]]] = {
        "made": (lambda: semaphore.try_set_permits(2), lambda: them.set_total(name, 2)),
        "added": (lambda: semaphore.add_permits(2), lambda: them.add(name, 2)),
    }
    for make in makes[how]:
        waits = here.start(semaphore.acquire)
        eventually("we wait in the queue", lambda: semaphore.inspect().queued == 1)
        other.tell_take(name, wait_ms=-1)
        eventually("both listen", lambda: fleet.server.listeners(channel(name)) == 2)
        called = now_us()
        make()
        their_end = other.taken()
        assert their_end is not None
        assert max(waits.ended()[0], their_end) - called < BY_A_MESSAGE
        assert semaphore.inspect().available == 0
        nobody_listens(fleet, name)
        fleet.server.command("DEL", name)
    other.end()


def test_alternating_counts(request: pytest.FixtureRequest, ours: libdlock.Client, them: CountingHolder, name: str) -> None:
    semaphore = ours.counting_semaphore(name)
    assert semaphore.try_set_permits(1)
    rounds: int = request.config.getoption("--handovers")
    for _ in range(rounds // 2):
        assert semaphore.acquire(timeout=SOON)
        assert them.take(name) is None
        semaphore.release()
        assert them.take(name, wait_ms=5_000) is not None
        assert not semaphore.try_acquire()
        them.give(name)
    assert (them.available(name), semaphore.inspect().available) == (1, 1)


def test_alternating_counts_of_contenders(
    request: pytest.FixtureRequest, ours: libdlock.Client, them: CountingHolder, name: str
) -> None:
    """Both want the one permit all the time; each that has it notes from when to when."""
    semaphore = ours.counting_semaphore(name)
    assert semaphore.try_set_permits(1)
    rounds: int = request.config.getoption("--handovers") // 2

    def we() -> list[Hold]:
        holds = []
        for _ in range(rounds):
            assert semaphore.acquire(timeout=SOON)
            begin = now_us()
            holds.append(Hold(begin, now_us(), None))
            semaphore.release()
        return holds

    def they() -> list[Hold]:
        holds = []
        for _ in range(rounds):
            begin = them.take(name, wait_ms=10_000)
            assert begin is not None
            holds.append(Hold(begin, now_us(), None))
            them.give(name)
        return holds

    with ThreadPoolExecutor() as pool:
        both = [pool.submit(we), pool.submit(they)]
        holds = [hold for side in both for hold in side.result(60 + rounds / 10)]
    assert len(holds) == 2 * rounds
    check_disjoint(holds)
    assert them.available(name) == 1


def test_permits_are_conserved_among_many(ours: libdlock.Client, theirs: Redisson, them: CountingHolder, name: str) -> None:
    semaphore, total, rounds = ours.counting_semaphore(name), 5, 40
    assert semaphore.try_set_permits(total)
    taken, most, counting = 0, 0, threading.Lock()

    def note(change: int) -> None:
        nonlocal taken, most
        with counting:
            taken += change
            most = max(most, taken)

    def we(permits: int) -> None:
        for _ in range(rounds):
            assert semaphore.acquire(permits, timeout=SOON)
            note(permits)
            note(-permits)
            semaphore.release(permits)

    def they(permits: int) -> None:
        holder = theirs.counting()
        for _ in range(rounds):
            assert holder.take(name, permits, wait_ms=10_000) is not None
            note(permits)
            note(-permits)
            holder.give(name, permits)
        holder.end()

    with ThreadPoolExecutor() as pool:
        for done in [pool.submit(side, permits) for side in (we, they) for permits in (1, 2, 3)]:
            done.result(60)
    assert 3 <= most <= total
    assert them.available(name) == total


def test_permits_of_ours_under_leases_are_not_for_them(
    ours: libdlock.Client, them: CountingHolder, wire: Wire, name: str
) -> None:
    """A name belongs to one kind. Redisson does not look, ours does."""
    with ours.semaphore(name, 2):
        with pytest.raises(libdlock.WrongType):
            ours.counting_semaphore(name).release()
        assert them.available(name) == 1
    wire.command("DEL", f"{{{name}}}:timeout")
