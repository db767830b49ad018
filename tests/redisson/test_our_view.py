"""What our methods say and do about a lock that Redisson holds is what they say and do about another client's of ours."""

from __future__ import annotations

import libdlock
import pytest
from helpers import Fleet
from redisson import Redisson, Refused
from sides import BY_A_MESSAGE, Thread, listening, now_us
from wire import Wire


def test_inspect_and_locked(ours: libdlock.Client, theirs: Redisson, name: str) -> None:
    lock, them = ours.lock(name), theirs.thread()
    them.acquire(name)
    seen = lock.inspect()
    assert seen.holder == them.owner
    assert not seen.ours
    assert seen.ttl is not None
    assert 29 < seen.ttl <= 30
    assert seen.token is None, "its plain lock has none"
    assert lock.locked()
    assert lock.held is None
    them.release(name)
    assert lock.inspect() == libdlock.Inspection(holder=None, ours=False, ttl=None, token=None, queued=0)


def test_inspect_shows_a_fenced_locks_token(ours: libdlock.Client, theirs: Redisson, name: str) -> None:
    lock, them = ours.lock(name), theirs.thread("fenced")
    token = them.acquire(name).token
    assert lock.inspect().token == token
    them.release(name)


def test_what_only_the_holder_may(ours: libdlock.Client, theirs: Redisson, wire: Wire, name: str) -> None:
    lock, them = ours.lock(name), theirs.thread()
    them.acquire(name)
    with pytest.raises(libdlock.NotHeld):
        lock.release()
    with pytest.raises(libdlock.NotHeld):
        lock.extend(60)
    with pytest.raises(libdlock.NotHeld):
        lock.detach()
    assert wire.fields(name) == {them.owner: "1"}
    them.release(name)


def test_a_force_release_frees_it_and_wakes_who_waits(
    fleet: Fleet, ours: libdlock.Client, theirs: Redisson, name: str
) -> None:
    lock, holder, waiter = ours.lock(name), theirs.thread(), theirs.thread()
    holder.acquire(name)
    waiter.tell_acquire(name)
    listening(fleet, name)
    called = now_us()
    assert lock.force_release()
    assert waiter.got().at - called < BY_A_MESSAGE
    with pytest.raises(Refused, match="IllegalMonitorStateException"):
        holder.release(name)
    assert lock.inspect().holder == waiter.owner, "the late unlock left the next hold alone"
    waiter.release(name)
    assert not lock.force_release()


def test_a_given_lease_runs_out(ours: libdlock.Client, theirs: Redisson, here: Thread, name: str) -> None:
    lock, them = ours.lock(name), theirs.thread()
    them.acquire(name, lease_ms=600)
    asked, ttl = now_us(), lock.inspect().ttl
    assert ttl is not None
    assert 0 < ttl <= 0.6
    at, _ = here.start(lock.acquire).ended()
    waited = at - asked
    assert ttl * 1e6 - 5_000 < waited < ttl * 1e6 + BY_A_MESSAGE, f"{waited} us for a lease with {ttl} s left"
    with pytest.raises(Refused, match="IllegalMonitorStateException"):
        them.release(name)
    here.run(lock.release)


def test_its_re_entry_is_one_hold_to_us(
    fleet: Fleet, ours: libdlock.Client, theirs: Redisson, here: Thread, wire: Wire, name: str
) -> None:
    lock, them = ours.lock(name), theirs.thread()
    for count in (1, 2, 3):
        them.acquire(name)
        assert wire.fields(name) == {them.owner: str(count)}
    assert them.hold_count(name) == 3
    assert lock.inspect().holder == them.owner
    acquired = here.start(lock.acquire)
    listening(fleet, name)
    for left in ("2", "1"):
        them.release(name)
        assert wire.fields(name) == {them.owner: left}
        assert not acquired.done()
    called = them.release(name)
    assert acquired.ended()[0] - called < BY_A_MESSAGE
    here.run(lock.release)


def test_our_re_entry_is_one_hold_to_it(
    ours: libdlock.Client, theirs: Redisson, here: Thread, wire: Wire, name: str
) -> None:
    lock, them = ours.lock(name), theirs.thread()
    here.run(lock.acquire)
    (owner,) = before = wire.fields(name)
    here.run(lock.acquire)
    assert wire.fields(name) == before == {owner: "1"}, "re-entry is counted in the process"
    here.run(lock.release)
    assert not them.attempt(name)
    here.run(lock.release)
    assert them.attempt(name)
    them.release(name)


def test_a_lock_handed_on_between_us_stays_closed_to_redisson(
    fleet: Fleet, ours: libdlock.Client, theirs: Redisson, here: Thread, wire: Wire, name: str
) -> None:
    lock, them = ours.lock(name), theirs.thread()
    here.run(lock.acquire)
    detached = here.run(lock.detach)
    assert not them.attempt(name)
    with libdlock.connect(fleet.server.url) as other:
        taken = other.lock(name)
        held = taken.attach(detached)
        assert wire.fields(name) == {held.owner: "1"}
        assert not them.attempt(name)
        taken.release()
    assert them.attempt(name)
    them.release(name)
