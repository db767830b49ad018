"""A cluster of redis-servers of one's own: see private_redis. Standard library only."""

from __future__ import annotations

import re
import subprocess
import time
from collections.abc import Callable
from contextlib import ExitStack
from functools import cache
from types import TracebackType

from private_redis import PROGRAM, PrivateRedis, cluster_rights, free_port

#: How many slots there are.
SLOTS = 16_384

#: How many of the nodes share them.
PRIMARIES = 3

#: How long the nodes may take to agree, in seconds.
SETTLING = 60.0


@cache
def is_old() -> bool:
    """Whether the servers that are started are older than Redis 7.0."""
    told = subprocess.run([PROGRAM, "--version"], capture_output=True, text=True, check=True, timeout=10).stdout
    version = re.search(r" v=(\d+)\.", told)
    assert version is not None, told
    return int(version.group(1)) < 7


class ClusterNode(PrivateRedis):
    """A server that takes part in a cluster."""

    def __init__(self) -> None:
        super().__init__()
        self._bus = free_port()

    def rights(self) -> list[str]:
        return [*super().rights(), *cluster_rights(is_old())]

    def _command(self) -> list[str]:
        words = [*super()._command(), "--cluster-enabled", "yes", "--cluster-config-file", "nodes.conf"]
        return words if is_old() else [*words, "--cluster-port", str(self._bus)]

    @property
    def bus_port(self) -> int:
        """Where the other nodes find it. Older ones take the port above theirs by 10,000."""
        return self.port + 10_000 if is_old() else self._bus

    def told(self, field: str) -> str:
        """A field of CLUSTER INFO."""
        found = re.search(rf"^{field}:(\S+)", self.command("CLUSTER", "INFO"), re.MULTILINE)
        return found.group(1) if found else ""


class PrivateCluster:
    """Starts on entering, stops on leaving: three primaries with a part of the slots each, and so many replicas of each."""

    def __init__(self, replicas: int = 0, make: Callable[[], ClusterNode] = ClusterNode) -> None:
        self.nodes = [make() for _ in range(PRIMARIES * (1 + replicas))]
        self._open = ExitStack()

    @property
    def url(self) -> str:
        """Of all nodes."""
        return "redis+cluster://" + ",".join(f"127.0.0.1:{node.port}" for node in self.nodes)

    def __enter__(self) -> PrivateCluster:
        try:
            for node in self.nodes:
                self._open.enter_context(node)
            self._share()
        except BaseException:
            self.stop()
            raise
        return self

    def _share(self) -> None:
        primaries, replicas = self.nodes[:PRIMARIES], self.nodes[PRIMARIES:]
        for at, node in enumerate(primaries):
            first, end = SLOTS * at // PRIMARIES, SLOTS * (at + 1) // PRIMARIES
            assert node.command("CLUSTER", "ADDSLOTS", *map(str, range(first, end))) == "OK"
            # Else they would all begin with the same epoch.
            assert node.command("CLUSTER", "SET-CONFIG-EPOCH", str(at + 1)) == "OK"
        first_node = primaries[0]
        for other in self.nodes[1:]:
            met = other.command("CLUSTER", "MEET", "127.0.0.1", str(first_node.port), str(first_node.bus_port))
            assert met == "OK"
        self._wait(lambda node: node.told("cluster_known_nodes") == str(len(self.nodes)))
        self._wait(lambda node: node.told("cluster_slots_assigned") == str(SLOTS))
        for at, replica in enumerate(replicas):
            assert replica.command("CLUSTER", "REPLICATE", primaries[at % PRIMARIES].command("CLUSTER", "MYID")) == "OK"
        self._wait(lambda node: node.told("cluster_state") == "ok" and node.told("cluster_slots_ok") == str(SLOTS))

    def _wait(self, is_so: Callable[[ClusterNode], bool]) -> None:
        deadline = time.monotonic() + SETTLING
        while not all(is_so(node) for node in self.nodes):
            assert time.monotonic() < deadline, f"the nodes do not agree: {self.nodes[0].command('CLUSTER', 'INFO')}"
            time.sleep(0.02)  # nodes tell nobody that they agree

    def stop(self) -> None:
        """Ends all nodes. Stopping again does nothing."""
        self._open.close()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.stop()
