"""What Redisson's methods say and do about a lock of ours is what they say and do about one of its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import libdlock
import pytest
from helpers import Fleet
from redisson import Redisson, Refused
from sides import BY_A_MESSAGE, Thread, listening, now_us
from wire import Wire

HOLDERS = ["ours", "redisson"]
#: From a timer or a message to its effect, on a busy machine.


class Elsewhere(NamedTuple):
    """Somebody else who holds the lock, by their side or by ours."""

    hold: Callable[[int | None], object]
    """Takes the lock for a lease in ms, or for as long as it is held."""
    release: Callable[[], object]


@pytest.fixture
def elsewhere(request: pytest.FixtureRequest, ours: libdlock.Client, theirs: Redisson, here: Thread, name: str) -> Elsewhere:
    if request.param == "redisson":
        other = theirs.thread()
        return Elsewhere(lambda lease: other.acquire(name, lease or -1), lambda: other.release(name))
    locks: list[libdlock.Lock] = []  # held by being there

    def hold(lease: int | None) -> None:
        locks.append(ours.lock(name, lease=None if lease is None else lease / 1000))
        assert here.run(locks[-1].acquire)

    return Elsewhere(hold, lambda: here.run(locks.pop().release))


@pytest.mark.parametrize("elsewhere", HOLDERS, indirect=True)
def test_the_questions_about_a_held_lock(elsewhere: Elsewhere, theirs: Redisson, wire: Wire, name: str) -> None:
    them = theirs.thread()
    elsewhere.hold(None)
    assert them.locked(name)
    assert 29_000 < them.ttl(name) <= 30_000
    assert not them.mine(name)
    assert them.hold_count(name) == 0
    # What is behind the colon of the owner is a thread of theirs or an attempt of ours; before it stands another client.
    (owner,) = wire.fields(name)
    client, _, number = owner.rpartition(":")
    assert them.held_by(name, number) == (client == theirs.id)
    with pytest.raises(Refused, match="IllegalMonitorStateException.*not locked by current thread by node id: " + theirs.id):
        them.release(name)
    assert them.locked(name), "the refused unlock changed nothing"
    elsewhere.release()


@pytest.mark.parametrize("elsewhere", HOLDERS, indirect=True)
def test_the_questions_about_a_released_lock(elsewhere: Elsewhere, theirs: Redisson, name: str) -> None:
    them = theirs.thread()
    elsewhere.hold(None)
    elsewhere.release()
    assert not them.locked(name)
    assert them.ttl(name) == -2
    assert not them.force(name)


@pytest.mark.parametrize("elsewhere", HOLDERS, indirect=True)
def test_a_given_lease_counts_down_and_ends_the_hold(elsewhere: Elsewhere, theirs: Redisson, name: str) -> None:
    them = theirs.thread()
    elsewhere.hold(600)
    asked, ttl = now_us(), them.ttl(name)
    assert 0 < ttl <= 600
    them.tell_acquire(name)
    waited = them.got().at - asked
    # The server counts whole milliseconds, and theirs asks again when the time it was told is over.
    assert (ttl - 5) * 1000 < waited < ttl * 1000 + BY_A_MESSAGE, f"{waited} us for a lease with {ttl} ms left"
    them.release(name)


@pytest.mark.parametrize("elsewhere", HOLDERS, indirect=True)
def test_a_force_unlock_frees_it_and_wakes_who_waits(
    elsewhere: Elsewhere, theirs: Redisson, fleet: Fleet, name: str
) -> None:
    them, operator = theirs.thread(), theirs.thread()
    elsewhere.hold(None)
    them.tell_acquire(name)
    listening(fleet, name)
    called = now_us()
    assert operator.force(name)
    assert them.got().at - called < BY_A_MESSAGE
    them.release(name)


@pytest.mark.parametrize("elsewhere", HOLDERS, indirect=True)
def test_a_timed_try_gives_up_in_time(elsewhere: Elsewhere, theirs: Redisson, name: str) -> None:
    them = theirs.thread()
    elsewhere.hold(None)
    called = now_us()
    assert not them.attempt(name, wait_ms=200)
    # Its clock has whole ms.
    assert 199_000 <= now_us() - called < 200_000 + BY_A_MESSAGE
    elsewhere.release()


def lost(lock: libdlock.Lock) -> str | None:
    """Waits for the loss of this thread's hold; why."""
    held = lock.held
    assert held is not None
    assert held.lost.wait(15)
    return held.lost.reason


def test_we_are_told_of_a_force_unlock(fleet: Fleet, theirs: Redisson, here: Thread, name: str) -> None:
    with libdlock.connect(fleet.server.url, lease=1.5) as brisk:  # renews every 500 ms
        lock, them = brisk.lock(name), theirs.thread()
        here.run(lock.acquire)
        told = here.start(lambda: lost(lock))
        forced = now_us()
        assert them.force(name)
        at, reason = told.ended()
        assert reason == "deleted"
        assert at - forced < 1_500_000, "by a renewal, before the lease would be over"
        with pytest.raises((libdlock.NotHeld, libdlock.LockLost)):
            here.run(lock.release)


def test_we_are_told_that_redisson_took_it(fleet: Fleet, theirs: Redisson, here: Thread, wire: Wire, name: str) -> None:
    with libdlock.connect(fleet.server.url, lease=9) as slow:  # their waiter is sooner than a renewal
        lock, them = slow.lock(name), theirs.thread()
        here.run(lock.acquire)
        told = here.start(lambda: lost(lock))
        them.tell_acquire(name)
        listening(fleet, name)
        assert theirs.thread().force(name)
        them.got()
        assert told.ended()[1] == "taken"
        with pytest.raises((libdlock.NotHeld, libdlock.LockLost)):
            here.run(lock.release)
        assert wire.fields(name) == {them.owner: "1"}, "our release left their hold alone"
        them.release(name)


def test_a_late_release_of_ours_leaves_their_hold_alone(
    ours: libdlock.Client, theirs: Redisson, here: Thread, wire: Wire, name: str
) -> None:
    lock, them = ours.lock(name), theirs.thread()
    here.run(lock.acquire)
    assert them.force(name)
    them.acquire(name)
    with pytest.raises((libdlock.NotHeld, libdlock.LockLost)):  # the next renewal, which would tell, is 10 s away
        here.run(lock.release)
    assert wire.fields(name) == {them.owner: "1"}
    them.release(name)
