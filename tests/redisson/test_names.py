"""Both sides make the same keys of a name: hash tags, other alphabets, control characters, a prefix before every name."""

from __future__ import annotations

import json
from pathlib import Path

import libdlock
import pytest
from helpers import Fleet, eventually
from redisson import Peer, Redisson
from sides import BY_A_MESSAGE, Thread, now_us
from wire import Wire

VECTORS = json.loads((Path(__file__).resolve().parents[1] / "vectors/names.json").read_text())
#: Every name that we take. What we refuse Redisson may take, so there is nothing to share.
NAMES = [(vector["why"], bytes.fromhex(vector["hex"]).decode()) for vector in VECTORS["names"] if vector["ok"]]
#: The message, not our poll of 30 s.


def channel(name: str) -> str:
    return f"redisson_lock__channel:{name}" if "{" in name else f"redisson_lock__channel:{{{name}}}"


def share(wire: Wire, lock: libdlock.Lock, redisson: Redisson, here: Thread, name: str, key: str) -> None:
    """Both take the lock that `key` is on the server, keep the other out and wake the other."""
    them = redisson.thread("fenced")

    def listening() -> None:
        eventually("the waiter listens", lambda: wire.command("PUBSUB", "NUMSUB", channel(key)) == [channel(key), 1])

    here.run(lock.acquire)
    assert wire.text("TYPE", key) == "hash"
    assert not them.attempt(name)
    them.tell_acquire(name)
    listening()
    called = now_us()
    here.run(lock.release)
    theirs = them.got()
    assert theirs.at - called < BY_A_MESSAGE

    assert wire.fields(key) == {them.owner: "1"}
    acquired = here.start(lock.acquire)
    listening()
    called = them.release(name)
    assert acquired.ended()[0] - called < BY_A_MESSAGE
    held = here.run(lambda: lock.held)
    assert held is not None
    assert theirs.token is not None
    assert held.token > theirs.token
    here.run(lock.release)
    wire.command("DEL", f"redisson_lock_token:{key}" if "{" in key else f"redisson_lock_token:{{{key}}}")


@pytest.mark.parametrize("shared", [name for _, name in NAMES], ids=[why for why, _ in NAMES])
def test_every_name_that_we_take(wire: Wire, ours: libdlock.Client, theirs: Redisson, here: Thread, shared: str) -> None:
    share(wire, ours.lock(shared), theirs, here, shared, key=shared)


@pytest.mark.parametrize("prefix", ["shop:", "{shop}:", "überall "])
def test_our_key_prefix_is_its_name_mapper(peer: Peer, fleet: Fleet, wire: Wire, here: Thread, prefix: str) -> None:
    redisson = peer.open(fleet.server.admin_url, prefix=prefix)
    with libdlock.connect(fleet.server.url, key_prefix=prefix, poll_interval=30) as ours:
        for name in ("stock", "order 7"):
            share(wire, ours.lock(name), redisson, here, name, key=prefix + name)
    redisson.close()
