"""What Redisson reads and writes, on which docs/protocol rests; and that ours leaves what it expects.

On a server where nobody else is, so that every command on it is seen.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterator

import libdlock
import pytest
from helpers import Server, eventually
from redisson import Holder, Redisson
from sides import Thread
from wire import Command, Messages, Monitor, Wire

CHANNEL = "redisson_lock__channel:{job}"
LATCH = re.compile(r"redisson_unlock_latch:\{job\}:[0-9a-f]{32}")
#: (timeout + the delay before a retry) * attempts, by its defaults: 3 s, 1 to 2 s, 4.
LATCH_TTL_MS = range(16_000, 20_001)


@pytest.fixture
def them(redisson: Redisson) -> Holder:
    holder = redisson.thread()
    holder.acquire("warm")  # its scripts are in the server's cache from here on
    holder.release("warm")
    return holder


@pytest.fixture
def monitor(server: Server, them: Holder) -> Iterator[Monitor]:
    with Monitor(server.port) as monitor:
        yield monitor


@pytest.fixture
def messages(server: Server) -> Iterator[Messages]:
    with Messages(server.port) as messages:
        yield messages


def sent(commands: list[Command]) -> list[str]:
    """The names of those that a client sent, connection upkeep aside."""
    return [command.name for command in commands if not command.in_script and command.name not in ("PING", "ECHO", "AUTH")]


def in_scripts(commands: list[Command]) -> list[list[str]]:
    return [[command.name, *command.words[1:]] for command in commands if command.in_script]


def test_an_acquire_of_redisson(them: Holder, alone: Wire, monitor: Monitor) -> None:
    them.acquire("job")
    seen = monitor.until_now()
    assert sent(seen) == ["EVALSHA"]
    assert in_scripts(seen)[-2:] == [["HINCRBY", "job", them.owner, "1"], ["PEXPIRE", "job", "30000"]]
    assert alone.text("TYPE", "job") == "hash"
    assert alone.fields("job") == {them.owner: "1"}
    assert 29_000 < alone.number("PTTL", "job") <= 30_000
    assert alone.all_keys() == {"job"}, "no other key"
    them.release("job")


def test_a_release_of_redisson(them: Holder, alone: Wire, monitor: Monitor, messages: Messages) -> None:
    them.acquire("job")
    monitor.until_now()
    them.release("job")
    seen = monitor.until_now()
    # The latch is what makes a release that is repeated harmless; ours needs none, since an owner names one attempt.
    get, *_, delete, publish, latch = in_scripts(seen)
    assert get[0] == "GET"
    assert LATCH.fullmatch(get[1])
    assert delete == ["DEL", "job"]
    assert publish == ["PUBLISH", CHANNEL, "0"]
    assert latch[:3] == ["SET", get[1], "1"]
    assert latch[3].upper() == "PX"
    assert int(latch[4]) in LATCH_TTL_MS
    assert messages.next() == (CHANNEL, "0")
    # One more command takes the latch away, unawaited.
    eventually("no key is left", lambda: not alone.all_keys())
    assert sent(seen)[:1] == ["EVALSHA"]
    assert set(sent(seen)[1:]) <= {"DEL"}


def test_re_entry_of_redisson(them: Holder, alone: Wire, monitor: Monitor) -> None:
    them.acquire("job", lease_ms=20_000)
    them.acquire("job", lease_ms=5_000)
    assert alone.fields("job") == {them.owner: "2"}
    assert alone.number("PTTL", "job") <= 5_000, "the last lease counts, also a shorter one"
    monitor.until_now()
    them.release("job")
    seen = in_scripts(monitor.until_now())
    assert "PUBLISH" not in [words[0] for words in seen], "nothing is published before the last"
    assert alone.fields("job") == {them.owner: "1"}
    assert alone.number("PTTL", "job") > 0
    them.release("job")


def test_a_refused_release_of_redisson_writes_nothing(
    redisson: Redisson, them: Holder, alone: Wire, monitor: Monitor
) -> None:
    other = redisson.thread()
    them.acquire("job")
    monitor.until_now()
    with pytest.raises(Exception, match="IllegalMonitorStateException"):
        other.release("job")
    assert {words[0] for words in in_scripts(monitor.until_now())} <= {"GET", "HEXISTS"}
    them.release("job")


def test_a_force_unlock_of_redisson(them: Holder, monitor: Monitor, messages: Messages) -> None:
    them.acquire("job")
    monitor.until_now()
    assert them.force("job")
    seen = monitor.until_now()
    assert in_scripts(seen) == [["DEL", "job"], ["PUBLISH", CHANNEL, "0"]]
    assert messages.next() == (CHANNEL, "0")
    assert not them.force("job")
    assert "PUBLISH" not in [words[0] for words in in_scripts(monitor.until_now())]


def test_how_redisson_waits(them: Holder, server: Server, alone: Wire, monitor: Monitor) -> None:
    with libdlock.connect(server.url) as ours:
        lock = ours.lock("job")
        lock.acquire()
        monitor.until_now()
        them.tell_acquire("job")
        eventually("it listens", lambda: server.subscribers("job") == 1)
        lock.release()
        them.got()
        eventually("it does not listen any more", lambda: server.subscribers("job") == 0)
        seen = [command.name for command in monitor.until_now() if command.words[1:2] == [CHANNEL]]
        assert seen == ["SUBSCRIBE", "PUBLISH", "UNSUBSCRIBE"]
    them.release("job")


def test_the_questions_of_redisson(them: Holder, monitor: Monitor) -> None:
    them.locked("job")
    them.ttl("job")
    them.mine("job")
    them.hold_count("job")
    asked = [command.words for command in monitor.until_now() if command.name in ("EXISTS", "PTTL", "HEXISTS", "HGET")]
    assert asked == [["EXISTS", "job"], ["PTTL", "job"], ["HEXISTS", "job", them.owner], ["HGET", "job", them.owner]]


def test_a_fenced_lock_of_redisson(redisson: Redisson, alone: Wire, monitor: Monitor) -> None:
    fenced = redisson.thread("fenced")
    assert fenced.acquire("job").token == 1
    assert fenced.acquire("job").token == 2, "every re-entry counts too"
    assert alone.all_keys() == {"job", "redisson_lock_token:{job}"}
    assert alone.text("GET", "redisson_lock_token:{job}") == "2"
    assert alone.number("PTTL", "redisson_lock_token:{job}") == -1
    fenced.release("job")
    fenced.release("job")
    assert alone.text("GET", "redisson_lock_token:{job}") == "2"


def test_a_fenced_lock_with_a_lease_of_redisson(redisson: Redisson, alone: Wire) -> None:
    """In 4.7.0 `lockAndGetToken(lease, unit)` takes the watchdog's lease; `tryLockAndGetToken` takes the given one."""
    fenced = redisson.thread("fenced")
    fenced.tell_acquire("job", lease_ms=5_000)
    fenced.got()
    assert alone.number("PTTL", "job") > 20_000
    fenced.release("job")
    fenced.acquire("job", lease_ms=5_000)
    assert alone.number("PTTL", "job") <= 5_000
    fenced.release("job")


def test_a_spin_lock_of_redisson_tells_nobody(redisson: Redisson, alone: Wire, monitor: Monitor) -> None:
    spin = redisson.thread("spin")
    spin.acquire("job")
    assert alone.fields("job") == {spin.owner: "1"}
    spin.release("job")
    assert "PUBLISH" not in [words[0] for words in in_scripts(monitor.until_now())]


def test_a_fair_lock_of_redisson_listens_elsewhere(redisson: Redisson, server: Server, alone: Wire, here: Thread) -> None:
    """Why docs/redisson.md says not to share one: it excludes, but our release does not wake who waits for it."""
    with libdlock.connect(server.url) as ours:
        lock, fair = ours.lock("job"), redisson.thread("fair")
        here.run(lock.acquire)
        fair.tell_try("job", wait_ms=300)
        own_channel = f"{CHANNEL}:{fair.owner}"  # and ours publishes to CHANNEL
        eventually("it listens", lambda: alone.command("PUBSUB", "CHANNELS", "*job*") == [own_channel])
        assert not fair.attempted()
        here.run(lock.release)


def test_owners_differ_in_the_version_of_their_uuid(redisson: Redisson, server: Server, alone: Wire) -> None:
    them = redisson.thread()
    them.acquire("job")
    (theirs,) = alone.fields("job")
    client, _, thread = theirs.rpartition(":")
    assert (client, thread) == (redisson.id, them.thread_id)
    assert (str(uuid.UUID(client)), uuid.UUID(client).version) == (client, 4)
    them.release("job")
    with libdlock.connect(server.url) as ours, ours.lock("job") as held:
        assert alone.fields("job") == {held.owner: "1"}
        client, _, attempt = held.owner.rpartition(":")
        assert attempt.isdigit()
        assert str(uuid.UUID(client)) == client
        assert client[14] == "8"


def test_what_ours_leaves_for_redisson(server: Server, alone: Wire, messages: Messages) -> None:
    with libdlock.connect(server.url) as ours:
        with ours.lock("job") as held:
            assert alone.fields("job") == {held.owner: "1"}
            assert 29_000 < alone.number("PTTL", "job") <= 30_000
            assert alone.all_keys() == {"job", "redisson_lock_token:{job}"}
        assert messages.next() == (CHANNEL, "0")
        assert alone.all_keys() == {"redisson_lock_token:{job}"}
        brief = ours.lock("job", lease=5)
        brief.acquire()
        assert alone.number("PTTL", "job") <= 5_000
        assert brief.force_release()
        assert messages.next() == (CHANNEL, "0")
        with pytest.raises(libdlock.NotHeld):
            brief.release()
        assert alone.all_keys() == {"redisson_lock_token:{job}"}
