"""Several locks of ours as one, beside Redisson's locks and its MultiLock of the same names."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from itertools import permutations

import libdlock
import pytest
from helpers import SOON, Fleet, eventually
from redisson import Holder, Redisson
from sides import BY_A_MESSAGE, Hold, Thread, check_disjoint, check_woken, listening, now_us
from wire import Wire

#: A round trip and a wake-up on a busy machine, far below our poll and every lease.


@pytest.fixture
def names(name: str) -> list[str]:
    return [f"{name}-{number}" for number in (1, 2, 3)]


@pytest.mark.parametrize("kind", ["lock", "fenced", "spin", "nonreentrant"])
@pytest.mark.parametrize("member", [0, 1, 2])
def test_a_member_of_theirs_keeps_our_set_out(
    ours: libdlock.Client, theirs: Redisson, names: list[str], wire: Wire, kind: str, member: int
) -> None:
    them, every = theirs.thread(kind), ours.lock_all(names)
    them.acquire(names[member])
    with pytest.raises(libdlock.AcquireTimeout, match=re.escape(names[member])):
        every.take(wait=0)
    with pytest.raises(libdlock.AcquireTimeout, match=re.escape(names[member])):
        every.take(wait=0.1)
    # In the background: the wait is over.
    eventually("what was taken before it met theirs is given back", lambda: wire.command("EXISTS", *names) == 1)
    them.release(names[member])
    with every.take(wait=0):
        assert wire.command("EXISTS", *names) == 3
    them.end()


@pytest.mark.parametrize("member", [0, 1, 2])
def test_our_set_keeps_them_out_of_each_member(
    ours: libdlock.Client, theirs: Redisson, names: list[str], member: int
) -> None:
    them, multi = theirs.thread(), theirs.thread("multi")
    overlaps = f"{names[member]},{names[0]}-other"
    with ours.lock_all(names).take():
        assert not them.attempt(names[member])
        assert not them.attempt(names[member], wait_ms=50)
        assert them.locked(names[member])
        assert not multi.attempt(overlaps)
    assert them.attempt(names[member])
    them.release(names[member])
    assert multi.attempt(overlaps)
    with pytest.raises(libdlock.AcquireTimeout):
        ours.lock_all(names).take(wait=0)
    multi.release(overlaps)
    for thread in (them, multi):
        thread.end()


def test_their_release_of_a_member_wakes_our_set(
    ours: libdlock.Client, theirs: Redisson, here: Thread, fleet: Fleet, names: list[str]
) -> None:
    them, every = theirs.thread(), ours.lock_all(names)
    took = []
    for member in names * 3:
        them.acquire(member)
        taking = here.start(lambda: every.take(wait=SOON))
        listening(fleet, member)
        called = them.release(member)
        at, held = taking.ended()
        took.append(at - called)
        held.release()
    them.end()
    check_woken(took)


def test_our_release_of_the_set_wakes_their_multi_lock(
    ours: libdlock.Client, theirs: Redisson, fleet: Fleet, names: list[str]
) -> None:
    them, every = theirs.thread("multi"), ours.lock_all(names)
    for order in permutations(names):
        multi = ",".join(order)
        held = every.take()
        them.tell_acquire(multi)
        listening(fleet, order[0])
        called = now_us()
        held.release()
        assert 0 <= them.got().at - called < BY_A_MESSAGE
        them.release(multi)
    them.end()


def test_alternating_sets(request: pytest.FixtureRequest, ours: libdlock.Client, theirs: Redisson, names: list[str]) -> None:
    """Sets that overlap in one lock, which both sides name in contrary orders: nobody waits for ever."""
    rounds: int = request.config.getoption("--handovers") // 2
    mine, multi = ours.lock_all(names[:2]), ",".join(reversed(names[1:]))
    them = theirs.thread("multi")

    def we() -> list[Hold]:
        holds = []
        for _ in range(rounds):
            with mine.take(wait=3 * SOON):
                begin = now_us()
                holds.append(Hold(begin, now_us(), None))
        return holds

    def they() -> list[Hold]:
        return alternated(them, multi, rounds)

    with ThreadPoolExecutor() as pool:
        both = [pool.submit(we), pool.submit(they)]
        holds = [hold for side in both for hold in side.result(60 + rounds / 10)]
    assert len(holds) == 2 * rounds
    check_disjoint(holds)
    them.end()


def alternated(them: Holder, multi: str, rounds: int) -> list[Hold]:
    them.tell_contend(multi, rounds)
    holds = []
    while hold := them.hold(3 * SOON):
        holds.append(hold)
    return holds


def test_the_tokens_of_a_set_go_on_with_theirs(ours: libdlock.Client, theirs: Redisson, names: list[str]) -> None:
    them, every = theirs.thread("fenced"), ours.lock_all(names)
    for _ in range(3):
        with every.take() as held:
            tokens = dict(held.tokens)
        for member in names:
            token = them.acquire(member).token
            assert token is not None
            assert token > tokens[member]
            them.release(member)
            tokens[member] = token
        with every.take() as held:
            assert all(token > tokens[member] for member, token in held.tokens.items())
    them.end()


def test_each_member_is_a_lock_of_its_own_on_the_wire(
    ours: libdlock.Client, wire: Wire, theirs: Redisson, names: list[str]
) -> None:
    them = theirs.thread()
    held = ours.lock_all(names, lease=20).take()
    for member in names:
        ((owner, count),) = wire.fields(member).items()
        assert (owner.rpartition(":")[0].count("-"), count) == (4, "1")
        assert 18_000 < wire.number("PTTL", member) <= 20_000
        assert them.ttl(member) <= 20_000
    assert them.force(names[1])
    with pytest.raises(libdlock.NotHeld, match=re.escape(names[1])):
        held.extend(30)
    assert (held.valid, held.lost_name) == (False, names[1])
    with pytest.raises(libdlock.NotHeld, match=re.escape(names[1])):
        held.release()
    assert wire.command("EXISTS", *names) == 0, "the others are given back all the same"
    them.end()
