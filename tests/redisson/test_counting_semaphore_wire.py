"""What an RSemaphore reads and writes, on which docs/protocol/counting-semaphore.md rests; and the same steps by ours.

On a server where nobody else is, so that every command on it is seen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import libdlock
import pytest
from helpers import Server
from redisson import CountingHolder, Redisson
from wire import Messages, Wire

CHANNEL = "redisson_sc:{sem}"
DONE = "dlock_counting_done:{sem}"


@pytest.fixture
def them(redisson: Redisson) -> Iterator[CountingHolder]:
    holder = redisson.counting()
    yield holder
    holder.end()


@pytest.fixture
def ours(server: Server) -> Iterator[libdlock.CountingSemaphore]:
    with libdlock.connect(server.url, poll_interval=30) as client:
        yield client.counting_semaphore("sem")


@pytest.fixture
def messages(server: Server) -> Iterator[Messages]:
    with Messages(server.port) as messages:
        yield messages


def mark(wire: Wire, messages: Messages) -> None:
    """Nothing was published before this."""
    wire.command("PUBLISH", "mark", "here")
    assert messages.next() == ("mark", "here")


def test_the_states_of_redissons(them: CountingHolder, alone: Wire, messages: Messages) -> None:
    assert them.set_total("sem", 3)
    assert alone.text("GET", "sem") == "3"
    assert messages.next() == (CHANNEL, "3")
    assert them.take("sem", 2) is not None
    assert alone.text("GET", "sem") == "1"
    assert them.take("sem", 2) is None
    assert alone.text("GET", "sem") == "1"
    mark(alone, messages)
    them.give("sem")
    assert messages.next() == (CHANNEL, "2")
    assert not them.set_total("sem", 9)
    assert alone.all_keys() == {"sem"}
    assert alone.number("PTTL", "sem") == -1


def test_the_states_of_ours(ours: libdlock.CountingSemaphore, alone: Wire, messages: Messages) -> None:
    assert ours.try_set_permits(3)
    assert alone.text("GET", "sem") == "3"
    assert messages.next() == (CHANNEL, "03"), "as a number what Redisson says, and known as ours"
    ours.acquire(2)
    assert alone.text("GET", "sem") == "1"
    assert not ours.try_acquire(2)
    assert alone.text("GET", "sem") == "1"
    mark(alone, messages)
    ours.release()
    assert messages.next() == (CHANNEL, "02")
    assert not ours.try_set_permits(9)
    assert alone.all_keys() == {"sem", DONE}
    assert alone.number("PTTL", "sem") == -1
    # At most a minute in whole ms, one more so that the key outlasts it, and another minute.
    assert 0 < alone.number("PTTL", DONE) <= 60_000 + 1 + 60_000


def test_a_number_below_zero_is_told_by_theirs_only(
    ours: libdlock.CountingSemaphore, them: CountingHolder, alone: Wire, messages: Messages
) -> None:
    """A waiter of Redisson throws at a negative message."""
    them.add("sem", 2)
    assert messages.next() == (CHANNEL, "2")
    them.add("sem", -5)
    assert messages.next() == (CHANNEL, "-3")
    ours.add_permits(-1)
    mark(alone, messages)
    ours.release(4)
    assert alone.text("GET", "sem") == "0"
    mark(alone, messages)
    ours.release(1)
    assert messages.next() == (CHANNEL, "01")


def test_none_made_and_none_drained_are_told_to_nobody(
    ours: libdlock.CountingSemaphore, alone: Wire, messages: Messages
) -> None:
    assert ours.try_set_permits(0)
    assert alone.text("GET", "sem") == "0"
    mark(alone, messages)
    ours.release(2)
    assert messages.next() == (CHANNEL, "02")
    assert ours.drain() == 2
    mark(alone, messages)


@pytest.mark.parametrize("side", ["theirs", "ours"])
def test_what_a_drain_leaves(ours: libdlock.CountingSemaphore, them: CountingHolder, alone: Wire, side: str) -> None:
    drain: Callable[[], int] = ours.drain if side == "ours" else lambda: them.drain("sem")
    them.add("sem", 4)
    assert drain() == 4
    assert alone.text("GET", "sem") == "0"
    them.add("sem", -2)
    assert drain() == -2
    assert alone.text("GET", "sem") == "0"


def test_a_time_to_live_that_they_gave_it_stays(ours: libdlock.CountingSemaphore, them: CountingHolder, alone: Wire) -> None:
    assert them.set_total("sem", 2)
    alone.command("PEXPIRE", "sem", "60000")
    ours.acquire()
    ours.release()
    ours.add_permits(1)
    assert 50_000 < alone.number("PTTL", "sem") <= 60_000
    them.give("sem")
    assert 50_000 < alone.number("PTTL", "sem") <= 60_000
