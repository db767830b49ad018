"""On a cluster, whose messages Redisson and libdlock say by the same rule: where the nodes know messages of slots, by those."""

from __future__ import annotations

from collections.abc import Iterator

import libdlock
import pytest
from helpers import eventually
from private_cluster import PrivateCluster, is_old
from private_redis import ADMIN
from redisson import Peer, Redisson
from sides import Thread, now_us

#: Over all three nodes, with a hash tag among them.
NAMES = [*(f"orders:{number}" for number in range(9)), "shop:{7}"]

#: A message on a busy machine takes less, and our poll of 30 s and Redisson's wait for its lease more.
TOLD = 1_000_000  # us


@pytest.fixture(scope="module")
def cluster() -> Iterator[PrivateCluster]:
    with PrivateCluster() as cluster:
        yield cluster


@pytest.fixture(scope="module")
def theirs(peer: Peer, cluster: PrivateCluster) -> Iterator[Redisson]:
    redisson = peer.open(cluster.url.replace("://", f"://{ADMIN}:any-password@"))
    yield redisson
    redisson.close()


@pytest.fixture(scope="module")
def ours(cluster: PrivateCluster) -> Iterator[libdlock.Client]:
    with libdlock.connect(cluster.url, poll_interval=30) as client:
        yield client


def listening(cluster: PrivateCluster, name: str) -> None:
    """Waits until somebody, of either side, listens for the release of the lock."""
    channel = f"redisson_lock__channel:{name}" if "{" in name else f"redisson_lock__channel:{{{name}}}"
    ask = f"return redis.call('PUBSUB', '{'NUMSUB' if is_old() else 'SHARDNUMSUB'}', ARGV[1])[2]"

    def listens() -> bool:
        return any(int(node.command("EVAL", ask, "0", channel)) > 0 for node in cluster.nodes)

    eventually("the waiter listens", listens)


@pytest.mark.parametrize("name", NAMES)
def test_each_side_wakes_the_other_on_its_node(
    cluster: PrivateCluster, theirs: Redisson, ours: libdlock.Client, here: Thread, name: str
) -> None:
    lock, thread = ours.lock(name), theirs.thread()
    for _ in range(3):
        here.run(lock.acquire)
        thread.tell_acquire(name)
        listening(cluster, name)
        called = now_us()
        here.run(lock.release)
        assert thread.got().at - called < TOLD
        waiting = here.start(lock.acquire)
        listening(cluster, name)
        called = thread.release(name)
        assert waiting.ended()[0] - called < TOLD
        here.run(lock.release)
