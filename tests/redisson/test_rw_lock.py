"""Read-write locks of ours and RReadWriteLocks of one name are one lock."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import cycle

import libdlock
import pytest
from helpers import SOON, Fleet, eventually
from redisson import Peer, Redisson
from sides import BY_A_MESSAGE, Grant, Hold, Taker, Thread, check_disjoint, check_woken, now_us
from wire import Wire

#: A round trip and a wake-up on a busy machine, far below our poll and every lease.
#: Both sides look by themselves only after 30 s: whoever waits longer than this has slept through a message.
BOUND = 5.0
ROUNDS = 10


class Ours:
    """A thread of this process and one side of a lock of ours: looks like a thread of the JVM."""

    def __init__(self, side: libdlock.RwLockSide) -> None:
        self._side = side
        self._thread = Thread()

    def tell_acquire(self, name: str) -> None:
        assert name == self._side.name
        self._acquiring = self._thread.start(self._acquire)

    def _acquire(self) -> int:
        self._side.acquire()
        held = self._side.held
        assert held is not None
        return held.token

    def got(self, bound: float = SOON) -> Grant:
        return Grant(*self._acquiring.result(bound))

    def release(self, name: str) -> int:
        assert name == self._side.name

        def release() -> int:
            called = now_us()
            self._side.release()
            return called

        return self._thread.run(release)

    def acquire(self) -> Grant:
        self.tell_acquire(self._side.name)
        return self.got()

    def attempt(self, timeout: float = 0) -> bool:
        """Tries for that long; whether it got it."""
        return self._thread.run(lambda: self._side.acquire(timeout=timeout))


@pytest.fixture
def rw(ours: libdlock.Client, name: str) -> libdlock.RwLock:
    return ours.rw_lock(name)


@pytest.fixture
def reader(rw: libdlock.RwLock) -> Ours:
    return Ours(rw.read)


@pytest.fixture
def writer(rw: libdlock.RwLock) -> Ours:
    return Ours(rw.write)


def channel(name: str) -> str:
    return f"redisson_rwlock:{{{name}}}"


def listening(fleet: Fleet, name: str) -> None:
    eventually("the waiter listens", lambda: fleet.server.listeners(channel(name)) > 0)


def nobody_listens(fleet: Fleet, name: str) -> None:
    eventually("nobody listens", lambda: fleet.server.listeners(channel(name)) == 0)


def test_readers_of_both_sides_read_together(reader: Ours, writer: Ours, theirs: Redisson, name: str) -> None:
    them = theirs.thread("read")
    reader.acquire()
    assert them.attempt(name)
    assert not writer.attempt(0.05)
    assert not theirs.thread("write").attempt(name, wait_ms=50)
    reader.release(name)
    assert not writer.attempt(), "theirs reads on"
    them.release(name)
    assert writer.attempt()
    writer.release(name)


def test_our_writer_keeps_redisson_out(writer: Ours, theirs: Redisson, name: str) -> None:
    writer.acquire()
    for kind in ("read", "write"):
        them = theirs.thread(kind)
        assert not them.attempt(name)
        assert not them.attempt(name, wait_ms=50)
        assert them.as_("write").locked(name)
        assert 29_000 < them.ttl(name) <= 60_000
    writer.release(name)
    for kind in ("read", "write"):
        them = theirs.thread(kind)
        assert them.attempt(name)
        them.release(name)


def test_redissons_writer_keeps_us_out(rw: libdlock.RwLock, reader: Ours, writer: Ours, theirs: Redisson, name: str) -> None:
    them = theirs.thread("write")
    them.acquire(name)
    for side in (reader, writer):
        assert not side.attempt()
        assert not side.attempt(0.05)
    seen = rw.inspect()
    assert (seen.writer, seen.ours, seen.readers) == (f"{them.owner}:write", False, 0)
    them.release(name)
    for side in (reader, writer):
        assert side.attempt()
        side.release(name)


def test_redissons_readers_are_counted_and_outlive_ours(
    rw: libdlock.RwLock, reader: Ours, theirs: Redisson, wire: Wire, name: str
) -> None:
    first, second = theirs.thread("read"), theirs.thread("read")
    first.acquire(name)
    first.acquire(name)
    second.acquire(name, lease_ms=20_000)
    reader.acquire()
    assert rw.inspect().readers == 3
    reader.release(name)
    assert wire.fields(name) == {"mode": "read", first.owner: "2", second.owner: "1"}
    first.release(name)
    first.release(name)
    assert 0 < wire.number("PTTL", name) <= 20_000, "what is left lasts as long as the longest"
    second.release(name)
    assert not wire.command("EXISTS", name)


def test_our_reader_outlives_redissons(reader: Ours, theirs: Redisson, wire: Wire, name: str) -> None:
    """Its last reader does not delete the hash under ours: each of ours has a key that it looks for."""
    them = theirs.thread("read")
    them.acquire(name, lease_ms=20_000)
    reader.acquire()
    them.release(name)
    assert wire.number("PTTL", name) > 20_000, "as long as ours"
    assert not theirs.thread("write").attempt(name)
    reader.release(name)


def test_a_lease_ends_on_both_sides(fleet: Fleet, rw: libdlock.RwLock, theirs: Redisson, name: str) -> None:
    with libdlock.connect(fleet.server.url) as other:
        brief = other.rw_lock(name, lease=0.3)
        brief.write.acquire()
        them = theirs.thread("read")
        assert them.attempt(name, wait_ms=5_000)
        with pytest.raises(libdlock.NotHeld):
            brief.write.release()
        them.release(name)
    theirs.thread("write").acquire(name, lease_ms=300)
    with rw.read:
        assert rw.inspect().readers == 1


def wake(fleet: Fleet, holder: Taker, waiter: Taker, name: str) -> None:
    took = []
    for _ in range(ROUNDS):
        holder.tell_acquire(name)
        holder.got()
        waiter.tell_acquire(name)
        listening(fleet, name)
        called = holder.release(name)
        took.append(waiter.got().at - called)
        waiter.release(name)
        nobody_listens(fleet, name)
    check_woken(took)


#: The sides that exclude each other.
CONFLICTS = [("write", "write"), ("write", "read"), ("read", "write")]


@pytest.mark.parametrize(("holds", "waits"), CONFLICTS)
def test_our_release_wakes_redisson(
    fleet: Fleet, rw: libdlock.RwLock, theirs: Redisson, name: str, holds: str, waits: str
) -> None:
    wake(fleet, Ours(getattr(rw, holds)), theirs.thread(waits), name)


@pytest.mark.parametrize(("holds", "waits"), CONFLICTS)
def test_redissons_release_wakes_us(
    fleet: Fleet, rw: libdlock.RwLock, theirs: Redisson, name: str, holds: str, waits: str
) -> None:
    wake(fleet, theirs.thread(holds), Ours(getattr(rw, waits)), name)


def test_a_writer_that_goes_on_as_a_reader_wakes_their_readers(
    fleet: Fleet, rw: libdlock.RwLock, here: Thread, theirs: Redisson, name: str
) -> None:
    """Redisson's does not: its readers sleep until the lease ends."""
    readers = [theirs.thread("read") for _ in range(3)]
    here.run(rw.write.acquire)
    for them in readers:
        them.tell_acquire(name)
    listening(fleet, name)
    here.run(rw.read.acquire)

    def downgrade() -> int:
        called = now_us()
        rw.write.release()
        return called

    called = here.run(downgrade)
    for them in readers:
        assert 0 <= them.got().at - called < BY_A_MESSAGE
    assert not theirs.thread("write").attempt(name)
    for them in readers:
        them.release(name)
    here.run(rw.read.release)


def test_their_writer_that_goes_on_as_a_reader(fleet: Fleet, theirs: Redisson, name: str) -> None:
    """It tells nobody, but the head of our queue looks by itself, by default every second."""
    writes = theirs.thread("write")
    reads = writes.as_("read")
    writes.acquire(name)
    reads.acquire(name)
    with libdlock.connect(fleet.server.url) as other:
        reader = Ours(other.rw_lock(name).read)
        reader.tell_acquire(name)
        listening(fleet, name)
        called = writes.release(name)
        assert reader.got().at - called < 1_500_000
        assert reads.mine(name), "both read"
        reader.release(name)
    reads.release(name)


def test_a_force_unlock_of_redisson_leaves_nothing_that_prolongs(
    ours: libdlock.Client, theirs: Redisson, wire: Wire, here: Thread, name: str
) -> None:
    """The key of the hold that it ended stays; its name is that of one acquire, so no later hold lasts longer by it."""
    long = ours.rw_lock(name, lease=20).read
    here.run(long.acquire)
    (owner,) = set(wire.fields(name)) - {"mode"}
    assert theirs.thread("read").force(name)
    stale = f"{{{name}}}:{owner}:rwlock_timeout:1"
    assert wire.number("PTTL", stale) > 10_000
    them = theirs.thread("read")
    them.acquire(name, lease_ms=2_000)
    assert wire.number("PTTL", name) <= 2_000
    with ours.rw_lock(name, lease=1).read:
        assert wire.number("PTTL", name) <= 2_000
    with pytest.raises(libdlock.NotHeld):
        here.run(long.release)
    assert not wire.command("EXISTS", stale)
    assert them.mine(name), "the late release left others alone"
    them.release(name)


@pytest.fixture
def brisk(peer: Peer, fleet: Fleet) -> Iterator[Redisson]:
    """A Redisson client with short leases: its threads can miss each other's releases, and sleep until the lease ends."""
    redisson = peer.open(fleet.server.admin_url, watchdog_ms=3_000)
    yield redisson
    redisson.close()


def test_alternating_sides(
    request: pytest.FixtureRequest, fleet: Fleet, rw: libdlock.RwLock, theirs: Redisson, name: str
) -> None:
    rounds: int = request.config.getoption("--handovers")
    # No two readers in a row, so that each has to wait; an odd number, so that each side gets each turn.
    turns = cycle(["write", "read", "write", "write", "read"])
    sides: list[dict[str, Taker]] = [
        {"read": Ours(rw.read), "write": Ours(rw.write)},
        {"read": theirs.thread("read"), "write": theirs.thread("write")},
    ]
    # As it comes, the release meets the acquire, the subscription or the sleep of the other side. In every other pair of rounds
    # the waiter is sure to sleep.
    asleep = cycle([False, False, True, True])
    holder: Taker = sides[0][next(turns)]
    holder.tell_acquire(name)
    grant = holder.got()
    holds: list[Hold] = []
    for turn, kind, waits in zip(range(rounds), turns, asleep, strict=False):
        waiter = sides[1 - turn % 2][kind]
        waiter.tell_acquire(name)
        if waits:
            listening(fleet, name)
        holds.append(Hold(grant.at, holder.release(name), grant.token))
        grant, holder = waiter.got(BOUND), waiter
    holds.append(Hold(grant.at, holder.release(name), grant.token))
    assert len(holds) == rounds + 1
    check_disjoint(holds)


def contention(side: libdlock.RwLockSide, rounds: int) -> Callable[[], list[Hold]]:
    """What a thread of ours does in a crowd."""

    def contend() -> list[Hold]:
        holds = []
        for _ in range(rounds):
            with side as held:
                begin = now_us()
                holds.append(Hold(begin, now_us(), held.token))
        return holds

    return contend


def test_a_crowd_of_readers_and_writers(rw: libdlock.RwLock, brisk: Redisson, name: str) -> None:
    rounds = 60
    kinds = ["read", "write", "read"]
    ours = [(kind, Thread().start(contention(getattr(rw, kind), rounds))) for kind in kinds]
    members = [(kind, brisk.thread(kind)) for kind in kinds]
    for _, them in members:
        them.tell_contend(name, rounds)
    holds: list[tuple[Hold, str]] = []
    for kind, them in members:
        while (hold := them.hold(bound=25)) is not None:
            holds.append((hold, kind))
    for kind, started in ours:
        holds.extend((hold, kind) for hold in started.result(25)[1])
    assert len(holds) == 2 * len(kinds) * rounds
    holds.sort(key=lambda each: (each[0].begin, each[0].end))
    until, written_until = 0, 0
    for hold, kind in holds:
        assert hold.begin >= (until if kind == "write" else written_until), f"{kind} {hold} beside another"
        until = max(until, hold.end)
        written_until = max(written_until, hold.end if kind == "write" else 0)
