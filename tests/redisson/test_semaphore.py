"""Semaphores of ours and RPermitExpirableSemaphores of one name are one semaphore."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import libdlock
import pytest
from helpers import SOON, Fleet, eventually
from redisson import PermitHolder, Redisson
from sides import check_woken, now_us
from wire import Wire

#: A round trip and a wake-up on a busy machine, far below our poll of 30 s.
ROUNDS = 10


@pytest.fixture
def them(theirs: Redisson, wire: Wire, name: str) -> Iterator[PermitHolder]:
    holder = theirs.permits()
    yield holder
    holder.end()
    # A semaphore stays; of the queue nothing does.
    wire.command("DEL", name, f"{{{name}}}:timeout")


@pytest.fixture
def pool() -> Iterator[ThreadPoolExecutor]:
    """Threads that wait for us."""
    with ThreadPoolExecutor() as pool:
        yield pool


def test_permits_of_both_sides_count(ours: libdlock.Client, them: PermitHolder, name: str) -> None:
    assert them.set_total(name, 3)
    semaphore = ours.semaphore(name, 3)
    held = semaphore.take(2)
    ids = them.take(name, 1)
    assert ids is not None
    assert (them.total(name), them.available(name), them.taken_count(name)) == (3, 0, 3)
    assert them.take(name) is None
    assert not semaphore.acquire(blocking=False)
    held.release()
    assert (them.available(name), semaphore.inspect().available) == (2, 2)
    them.free(name, ids)
    assert semaphore.inspect().available == 3


def test_one_of_ours_is_one_of_theirs_from_the_start(ours: libdlock.Client, them: PermitHolder, name: str) -> None:
    with ours.semaphore(name, 2):
        assert not them.set_total(name, 5), "it is there"
        assert (them.total(name), them.available(name)) == (2, 1)


def test_a_lease_ends_on_both_sides(ours: libdlock.Client, them: PermitHolder, name: str) -> None:
    semaphore = ours.semaphore(name, 1)
    held = semaphore.take(lease=0.3)
    assert them.take(name, wait_ms=5_000, lease_ms=300) is not None
    with pytest.raises(libdlock.NotHeld):
        held.release()
    with semaphore.take(wait=5):
        assert them.available(name) == 0


def test_the_ids_of_a_hold_are_theirs_too(ours: libdlock.Client, them: PermitHolder, name: str) -> None:
    semaphore = ours.semaphore(name, 4)
    held = semaphore.take(3)
    them.free(name, list(held.permits))
    assert them.available(name) == 4
    with pytest.raises(libdlock.NotHeld):
        held.release()
    assert semaphore.inspect().available == 4, "nothing was given back twice"


def test_their_release_wakes_us(
    ours: libdlock.Client, them: PermitHolder, pool: ThreadPoolExecutor, fleet: Fleet, name: str
) -> None:
    assert them.set_total(name, 1)
    semaphore = ours.semaphore(name, 1)

    def wait() -> int:
        with semaphore.take(wait=SOON):
            return now_us()

    took = []
    for _ in range(ROUNDS):
        ids = them.take(name)
        assert ids is not None
        woken = pool.submit(wait)
        eventually("we wait in the queue", lambda: semaphore.inspect().queued == 1)
        # The head listens on Redisson's channel.
        eventually("we listen", lambda: fleet.server.listeners(f"redisson_sc:{{{name}}}") > 0)
        called = them.free(name, ids)
        took.append(woken.result(SOON) - called)
    check_woken(took)


def test_our_release_wakes_them(ours: libdlock.Client, them: PermitHolder, fleet: Fleet, name: str) -> None:
    semaphore = ours.semaphore(name, 1)
    took = []
    for _ in range(ROUNDS):
        held = semaphore.take()
        them.tell_take(name, wait_ms=10_000)
        eventually("they listen", lambda: fleet.server.listeners(f"redisson_sc:{{{name}}}") > 0)
        called = now_us()
        held.release()
        taken = them.taken()
        assert taken is not None
        took.append(taken[0] - called)
        them.free(name, taken[1])
        eventually("nobody listens", lambda: fleet.server.listeners(f"redisson_sc:{{{name}}}") == 0)
    check_woken(took)


def test_alternating_permits(request: pytest.FixtureRequest, ours: libdlock.Client, them: PermitHolder, name: str) -> None:
    semaphore = ours.semaphore(name, 1)
    rounds: int = request.config.getoption("--handovers")
    for _ in range(rounds // 2):
        with semaphore.take(wait=SOON):
            pass
        ids = them.take(name, wait_ms=5_000)
        assert ids is not None
        them.free(name, ids)
    assert (them.total(name), them.available(name)) == (1, 1)


def test_more_expired_permits_than_redisson_can_count(
    ours: libdlock.Client, them: PermitHolder, wire: Wire, name: str
) -> None:
    assert them.set_total(name, 1)
    past = str(int(time.time() * 1000) - 60_000)
    for first in range(0, 9_000, 500):
        pairs = [word for number in range(first, first + 500) for word in (past, f"expired {number:08}")]
        wire.command("ZADD", f"{{{name}}}:timeout", *pairs)
    wire.command("SET", name, "0")
    # 9,000 come back, 500 with each script, without an error of the server's.
    with ours.semaphore(name, 9_000).take(9_000, wait=SOON):
        assert wire.text("GET", name) == "0"
    assert ours.semaphore(name, 9_000).inspect().available == 9_000
