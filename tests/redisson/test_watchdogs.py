"""Each side's watchdog keeps its lock from the other's waiters, and a holder that dies lets go at the end of its lease."""

from __future__ import annotations

from collections.abc import Callable

import libdlock
import workers
from helpers import SOON, Fleet, Worker
from redisson import Peer, Redisson
from sides import BY_A_MESSAGE, Process, Thread, listening, now_us
from wire import Monitor, Wire

#: A lease that a watchdog keeps; on a busy machine its renewals come late.
LEASE_MS = 1_200


def pttl(wire: Wire, name: str) -> int:
    return wire.number("PTTL", name)


def await_renewals(monitor: Monitor, name: str, count: int) -> None:
    """Waits until the server has set the lock's time to live that often more, by whatever script."""
    deadline = now_us() + SOON * 1_000_000
    while count:
        command = monitor.next()
        count -= command.in_script and command.name == "PEXPIRE" and command.words[1] == name
        assert now_us() < deadline, f"{count} renewals missing"


def test_redissons_watchdog_keeps_it_from_our_waiter(
    peer: Peer, fleet: Fleet, ours: libdlock.Client, here: Thread, name: str
) -> None:
    brisk = peer.open(fleet.server.admin_url, watchdog_ms=LEASE_MS)
    lock, them = ours.lock(name), brisk.thread()
    them.acquire(name)
    acquired = here.start(lock.acquire)
    listening(fleet, name)
    with Monitor(fleet.server.port) as monitor:
        await_renewals(monitor, name, 6)  # three in each lease: for two of them
    assert not acquired.done()
    called = them.release(name)
    # Sooner than by the end of the lease, of which two thirds are left at least.
    assert acquired.ended()[0] - called < LEASE_MS * 600
    here.run(lock.release)
    brisk.close()


def test_redissons_watchdog_outlives_the_thread(peer: Peer, fleet: Fleet, ours: libdlock.Client, name: str) -> None:
    """What docs/redisson.md tells of it; with ours the renewal ends with the thread."""
    brisk = peer.open(fleet.server.admin_url, watchdog_ms=LEASE_MS)
    them, operator = brisk.thread(), brisk.thread()
    them.acquire(name)
    them.end()
    with Monitor(fleet.server.port) as monitor:
        await_renewals(monitor, name, 6)
    assert not ours.lock(name).acquire(blocking=False)
    assert operator.force(name)
    brisk.close()


def test_our_watchdog_keeps_it_from_redissons_waiter(fleet: Fleet, theirs: Redisson, here: Thread, name: str) -> None:
    with libdlock.connect(fleet.server.url, lease=LEASE_MS / 1000) as brisk:
        lock, them = brisk.lock(name), theirs.thread()
        here.run(lock.acquire)
        them.tell_try(name, wait_ms=2 * LEASE_MS + 100)
        listening(fleet, name)
        with Monitor(fleet.server.port) as monitor:
            await_renewals(monitor, name, 6)
        assert not them.attempted(), "it tried for longer than two leases"
        here.run(lock.release)
        them.acquire(name)
        them.release(name)


def lets_go(fleet: Fleet, lock: libdlock.Lock, here: Thread, wire: Wire, end: Callable[[], None]) -> None:
    """Our waiter has the lock as soon as the lease of a holder that is ended is over, and not before."""
    acquired = here.start(lock.acquire)
    listening(fleet, lock.name)
    end()
    asked, left = now_us(), pttl(wire, lock.name) * 1000
    late = acquired.ended()[0] - asked - left
    assert -5_000 < late < BY_A_MESSAGE, f"{late} us after the end of the lease"
    here.run(lock.release)


def test_a_redisson_client_shut_down_lets_go_as_its_lease_ends(
    peer: Peer, fleet: Fleet, ours: libdlock.Client, here: Thread, wire: Wire, name: str
) -> None:
    mortal = peer.open(fleet.server.admin_url, watchdog_ms=900)
    mortal.thread().acquire(name)
    lets_go(fleet, ours.lock(name), here, wire, mortal.close)


def test_a_killed_jvm_lets_go_at_the_end_of_its_lease(
    fleet: Fleet, ours: libdlock.Client, here: Thread, wire: Wire, name: str
) -> None:
    mortal = Peer()
    mortal.open(fleet.server.admin_url, watchdog_ms=900).thread().acquire(name)
    lets_go(fleet, ours.lock(name), here, wire, mortal.kill)


def test_a_killed_process_of_ours_lets_go_at_the_end_of_its_lease(
    fleet: Fleet, theirs: Redisson, wire: Wire, name: str
) -> None:
    mortal, them = Worker([*workers.command("Python"), fleet.server.url_with("lease=900ms")]), theirs.thread()
    Process(mortal).tell_acquire(name)
    Process(mortal).got()
    them.tell_acquire(name)
    listening(fleet, name)
    mortal.kill()
    asked, left = now_us(), pttl(wire, name) * 1000
    late = them.got().at - asked - left
    assert -5_000 < late < BY_A_MESSAGE, f"{late} us after the end of the lease"
    them.release(name)
