"""What an RCountDownLatch reads and writes, on which docs/protocol/latch.md rests; and the same steps by ours.

On a server where nobody else is, so that every command on it is seen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import libdlock
import pytest
from helpers import SOON, Server, eventually
from redisson import LatchHolder, Peer, Redisson, Refused
from wire import Messages, Wire

CHANNEL = "redisson_countdownlatch__channel__{go}"
DONE = "dlock_latch_done:{go}"


@pytest.fixture
def them(redisson: Redisson) -> Iterator[LatchHolder]:
    holder = redisson.latch()
    yield holder
    holder.end()


@pytest.fixture
def ours(server: Server) -> Iterator[libdlock.Client]:
    with libdlock.connect(server.url, poll_interval=30) as client:
        yield client


@pytest.fixture
def messages(server: Server) -> Iterator[Messages]:
    with Messages(server.port) as messages:
        yield messages


def mark(wire: Wire, messages: Messages) -> None:
    """Nothing was published before this."""
    wire.command("PUBLISH", "mark", "here")
    assert messages.next() == ("mark", "here")


@pytest.fixture(params=["theirs", "ours"])
def side(request: pytest.FixtureRequest) -> str:
    side: str = request.param
    return side


def test_the_states_of_a_latch(ours: libdlock.Client, them: LatchHolder, alone: Wire, messages: Messages, side: str) -> None:
    latch = ours.latch("go")
    set_count: Callable[[int], bool] = latch.try_set_count if side == "ours" else lambda n: them.set_count("go", n)
    count_down: Callable[[], int] = latch.count_down if side == "ours" else lambda: them.count_down("go")
    keys = {DONE} if side == "ours" else set()
    assert set_count(2)
    assert alone.text("GET", "go") == "2"
    assert alone.number("PTTL", "go") == -1
    assert alone.all_keys() == {"go"} | keys
    assert messages.next() == (CHANNEL, "1")
    assert not set_count(5)
    count_down()
    assert alone.text("GET", "go") == "1"
    mark(alone, messages)
    count_down()
    assert messages.next() == (CHANNEL, "0")
    assert alone.all_keys() == keys
    count_down()
    assert alone.all_keys() == keys, "a surplus leaves nothing"
    mark(alone, messages)


def test_a_latch_of_ours_is_remembered_for_a_minute(ours: libdlock.Client, alone: Wire) -> None:
    latch = ours.latch("go")
    latch.try_set_count(1)
    latch.count_down()
    assert alone.number("ZCARD", DONE) == 2
    # What is left of the minute in whole ms, one more so that the key outlasts it, and another minute.
    assert 58_000 < alone.number("PTTL", DONE) <= 60_000 + 1 + 60_000


def test_a_removed_latch(ours: libdlock.Client, them: LatchHolder, alone: Wire, messages: Messages, side: str) -> None:
    latch = ours.latch("go")
    assert them.set_count("go", 2)
    assert messages.next() == (CHANNEL, "1")
    assert latch.delete() if side == "ours" else them.delete("go")
    assert messages.next() == (CHANNEL, "1"), "changed, and not open"
    assert alone.command("EXISTS", "go") == 0
    mark(alone, messages)


def test_a_count_below_zero_that_somebody_left(
    ours: libdlock.Client, them: LatchHolder, alone: Wire, messages: Messages
) -> None:
    latch = ours.latch("go")
    alone.command("SET", "go", "-3")
    assert latch.wait(timeout=0)
    assert them.wait("go", wait_ms=5_000) is not None, "theirs passes by it too, after it has subscribed"
    assert latch.count_down() == 0
    mark(alone, messages)
    assert not them.set_count("go", 1), "to theirs there is a latch"
    assert latch.try_set_count(1)
    assert messages.next() == (CHANNEL, "1")
    assert alone.text("GET", "go") == "1"


def test_a_name_with_braces_has_them_in_braces(
    ours: libdlock.Client, them: LatchHolder, alone: Wire, messages: Messages, side: str
) -> None:
    name = "{order}:42"
    if side == "ours":
        ours.latch(name).try_set_count(1)
        ours.latch(name).count_down()
    else:
        them.set_count(name, 1)
        them.count_down(name)
    channel = f"redisson_countdownlatch__channel__{{{name}}}"
    assert [messages.next(), messages.next()] == [(channel, "1"), (channel, "0")]
    assert name not in alone.all_keys()


def test_a_cluster_refuses_redissons_count_and_not_ours(peer: Peer) -> None:
    """The channel is a key to Redisson's script, and lies in another slot where the name has a hash tag."""
    name = "{order}:42"
    server = ClusterNode()
    with server:
        redisson = peer.open(server.admin_url)
        them = redisson.latch()
        with libdlock.connect(server.url) as ours, pytest.raises(Refused, match="CROSSSLOT"):
            assert ours.latch(name).try_set_count(2)
            assert ours.latch(name).count_down() == 1
            assert ours.latch(name).count_down() == 0
            assert ours.latch(name).wait(timeout=SOON)
            them.set_count(name, 1)
        redisson.close()


class ClusterNode(Server):
    """A cluster of one, which has all slots."""

    more = ("--cluster-enabled", "yes")

    def _start(self) -> bool:
        if not super()._start():
            return False
        self.command("CLUSTER", "ADDSLOTS", *(str(slot) for slot in range(16384)))
        eventually("the cluster is up", lambda: "cluster_state:ok" in self.command("CLUSTER", "INFO"))
        return True
