"""What an RReadWriteLock reads and writes, on which docs/protocol/rw-lock.md rests; and the same steps by ours.

On a server where nobody else is, so that every command on it is seen.
"""

from __future__ import annotations

from collections.abc import Iterator

import libdlock
import pytest
from helpers import Server, eventually
from redisson import Holder, Redisson
from sides import Thread
from wire import Messages, Wire

CHANNEL = "redisson_rwlock:{rw}"


@pytest.fixture
def messages(server: Server) -> Iterator[Messages]:
    with Messages(server.port) as messages:
        yield messages


def timeout(field: str, count: int = 1) -> str:
    return f"{{rw}}:{field}:rwlock_timeout:{count}"


def keys(wire: Wire) -> set[str]:
    """Those of holds: a latch of Redisson's is taken away unawaited, and tokens stay."""
    return {key for key in wire.all_keys() if not key.startswith(("redisson_unlock_latch:", "redisson_lock_token:"))}


def lasts(wire: Wire, key: str, ms: int) -> None:
    left = wire.number("PTTL", key)
    assert ms - 2_000 < left <= ms, f"{key} lasts {left} ms"


def mark(wire: Wire, messages: Messages) -> None:
    """Nothing was published before this."""
    wire.command("PUBLISH", "mark", "here")
    assert messages.next() == ("mark", "here")


def test_a_writer_of_redisson_that_reads(redisson: Redisson, alone: Wire, messages: Messages) -> None:
    writes, other = redisson.thread("write"), redisson.thread("read")
    reads, field = writes.as_("read"), f"{writes.owner}:write"
    writes.acquire("rw")
    assert alone.fields("rw") == {"mode": "write", field: "1"}
    lasts(alone, "rw", 30_000)
    writes.acquire("rw")
    assert alone.fields("rw") == {"mode": "write", field: "2"}
    lasts(alone, "rw", 60_000)
    assert keys(alone) == {"rw"}, "no key for a writer"
    assert not other.attempt("rw")
    assert alone.fields("rw") == {"mode": "write", field: "2"}
    reads.acquire("rw")
    assert alone.fields("rw") == {"mode": "write", field: "2", writes.owner: "1"}
    assert keys(alone) == {"rw", timeout(writes.owner)}
    assert alone.text("GET", timeout(writes.owner)) == "1"
    lasts(alone, timeout(writes.owner), 30_000)
    writes.release("rw")
    assert alone.fields("rw") == {"mode": "write", field: "1", writes.owner: "1"}
    writes.release("rw")
    assert alone.fields("rw") == {"mode": "read", writes.owner: "1"}
    mark(alone, messages)  # its readers that wait are not told
    other.acquire("rw")
    reads.release("rw")
    assert alone.fields("rw") == {"mode": "read", other.owner: "1"}
    mark(alone, messages)
    other.release("rw")
    assert messages.next() == (CHANNEL, "0")
    eventually("no key is left", lambda: not alone.all_keys())


def test_a_writer_of_ours_that_reads(redisson: Redisson, server: Server, alone: Wire, messages: Messages) -> None:
    other, thread = redisson.thread("read"), Thread()
    with libdlock.connect(server.url) as ours:
        rw = ours.rw_lock("rw")
        thread.run(rw.write.acquire)
        (field,) = set(alone.fields("rw")) - {"mode"}
        assert field.endswith(":write")
        assert alone.fields("rw") == {"mode": "write", field: "1"}
        assert keys(alone) == {"rw", timeout(field)}, "the end of the hold has a key of its own"
        token = alone.text("GET", timeout(field))
        assert token == alone.text("GET", "redisson_lock_token:{rw}")
        thread.run(rw.write.acquire)
        assert alone.fields("rw") == {"mode": "write", field: "1"}, "re-entry is counted in the process"
        lasts(alone, "rw", 30_000)
        assert not other.attempt("rw")
        assert alone.fields("rw") == {"mode": "write", field: "1"}
        thread.run(rw.read.acquire)
        (mine,) = set(alone.fields("rw")) - {"mode", field}
        assert alone.fields("rw") == {"mode": "write", field: "1", mine: "1"}
        assert keys(alone) == {"rw", timeout(field), timeout(mine)}
        assert int(alone.text("GET", timeout(mine))) > int(token)
        lasts(alone, timeout(mine), 30_000)
        thread.run(rw.write.release)
        assert alone.fields("rw") == {"mode": "write", field: "1", mine: "1"}
        mark(alone, messages)
        thread.run(rw.write.release)
        assert alone.fields("rw") == {"mode": "read", mine: "1"}
        assert keys(alone) == {"rw", timeout(mine)}
        assert messages.next() == (CHANNEL, "1"), "readers that wait are told"
        assert messages.next() == (CHANNEL, "0"), "once more, since somebody listens: `messages`"
        other.acquire("rw")
        thread.run(rw.read.release)
        assert alone.fields("rw") == {"mode": "read", other.owner: "1"}
        mark(alone, messages)
        other.release("rw")
        assert messages.next() == (CHANNEL, "0")
    eventually("only the token is left", lambda: alone.all_keys() == {"redisson_lock_token:{rw}"})


def test_readers_of_redisson_that_enter_again(redisson: Redisson, alone: Wire, messages: Messages) -> None:
    them = redisson.thread("read")
    them.acquire("rw", lease_ms=20_000)
    them.acquire("rw", lease_ms=10_000)
    assert alone.fields("rw") == {"mode": "read", them.owner: "2"}
    assert keys(alone) == {"rw", timeout(them.owner, 1), timeout(them.owner, 2)}
    lasts(alone, "rw", 20_000)
    lasts(alone, timeout(them.owner, 2), 10_000)
    them.release("rw")
    assert keys(alone) == {"rw", timeout(them.owner, 1)}
    mark(alone, messages)
    them.release("rw")
    assert messages.next() == (CHANNEL, "0")
    assert keys(alone) == set()


def last_of(ends: Holder | None, thread: Thread, rw: libdlock.RwLock) -> None:
    if ends is None:
        thread.run(rw.read.release)
    else:
        ends.release("rw")


@pytest.mark.parametrize("last", ["theirs", "ours"])
def test_the_last_reader_of_both_sides(
    redisson: Redisson, server: Server, alone: Wire, messages: Messages, last: str
) -> None:
    them, thread = redisson.thread("read"), Thread()
    with libdlock.connect(server.url) as ours:
        rw = ours.rw_lock("rw")
        them.acquire("rw")
        thread.run(rw.read.acquire)
        (field,) = set(alone.fields("rw")) - {"mode", them.owner}
        assert alone.fields("rw") == {"mode": "read", them.owner: "1", field: "1"}
        assert keys(alone) == {"rw", timeout(them.owner), timeout(field)}
        first, second = (None, them) if last == "theirs" else (them, None)
        last_of(first, thread, rw)
        assert keys(alone) == {"rw", timeout(field if last == "ours" else them.owner)}
        mark(alone, messages)
        last_of(second, thread, rw)
        assert messages.next() == (CHANNEL, "0")
        mark(alone, messages)
        assert keys(alone) == set()


def test_a_writer_of_ours_that_somebody_waits_for(
    redisson: Redisson, server: Server, alone: Wire, messages: Messages
) -> None:
    """`0` follows `1`: a thread of Redisson that is about to sleep misses `1`, and `0` is kept for it."""
    them, thread = redisson.thread("write"), Thread()
    with libdlock.connect(server.url) as ours:
        rw = ours.rw_lock("rw")
        thread.run(rw.write.acquire)
        them.tell_acquire("rw")
        eventually("it listens", lambda: server.listeners(CHANNEL) == 1)
        thread.run(rw.write.release)
        assert [messages.next(), messages.next()] == [(CHANNEL, "1"), (CHANNEL, "0")]
        them.got()
        assert alone.fields("rw") == {"mode": "write", f"{them.owner}:write": "1"}
        them.release("rw")
        assert messages.next() == (CHANNEL, "1")


def test_a_force_unlock_of_redisson(redisson: Redisson, alone: Wire, messages: Messages) -> None:
    reads, writes = redisson.thread("read"), redisson.thread("write")
    reads.acquire("rw")
    assert not writes.force("rw"), "only the side that is held"
    assert reads.force("rw")
    assert messages.next() == (CHANNEL, "0")
    assert keys(alone) == {timeout(reads.owner)}, "which a later hold of that thread would last by"
    writes.acquire("rw")
    assert writes.force("rw")
    assert messages.next() == (CHANNEL, "1")
    assert keys(alone) == {timeout(reads.owner)}
