"""What the scenarios of Cluster meet: three nodes that share the slots, and a server that is none of them."""

from __future__ import annotations

import re
import subprocess
import time
from contextlib import ExitStack
from functools import cached_property

import helpers  # noqa: F401  scripts/ is on the path from there on
from private_redis import PROGRAM, PrivateRedis, cluster_rights, free_port

#: How many slots there are.
SLOTS = 16_384

#: How long the nodes may take to be of one mind, in seconds.
SETTLING = 60.0


def major_version() -> int:
    """The first number of the version of the servers that are started."""
    told = subprocess.run([PROGRAM, "--version"], capture_output=True, text=True, check=True, timeout=10).stdout
    version = re.search(r" v=(\d+)\.", told)
    assert version is not None, told
    return int(version.group(1))


class Node(PrivateRedis):
    """A server that takes part in a cluster."""

    def __init__(self) -> None:
        super().__init__()
        self.is_old = major_version() < 7
        self.bus = free_port()

    def _command(self) -> list[str]:
        words = [*super()._command(), "--cluster-enabled", "yes", "--cluster-config-file", "nodes.conf"]
        # Older ones take the port above theirs by 10,000.
        words += [] if self.is_old else ["--cluster-port", str(self.bus)]
        at = words.index("--user")
        # The first user is the default one.
        return [*words[: at + 2], *words[at + 2 : at + 5], *cluster_rights(self.is_old), *words[at + 5 :]]

    @property
    def bus_port(self) -> int:
        return self.port + 10_000 if self.is_old else self.bus


class ClusterServers:
    """Started when a scenario first names one of them, and kept."""

    def __init__(self, server: int) -> None:
        """`server` is the port of a server that is no node."""
        self._server = server
        self._open = ExitStack()

    @cached_property
    def values(self) -> dict[str, str]:
        """What a scenario may name, as `$cluster.url`."""
        nodes = [Node() for _ in range(3)]
        for node in nodes:
            self._open.enter_context(node)
        share(nodes)
        values = {
            "url": "redis+cluster://" + ",".join(f"127.0.0.1:{node.port}" for node in nodes),
            "seed": f"valkey+cluster://127.0.0.1:{nodes[1].port}",
            "server_as_cluster": f"redis+cluster://127.0.0.1:{self._server}",
            "nobody": f"redis+cluster://127.0.0.1:{free_port()},127.0.0.1:{free_port()}",
        }
        return {f"cluster.{name}": value for name, value in values.items()}

    def end(self) -> None:
        """No node is left."""
        self._open.close()


def share(nodes: list[Node]) -> None:
    """Makes a cluster of the nodes, with a part of the slots each."""
    for at, node in enumerate(nodes):
        first, end = SLOTS * at // len(nodes), SLOTS * (at + 1) // len(nodes)
        assert node.command("CLUSTER", "ADDSLOTS", *map(str, range(first, end))) == "OK"
        # Else they would all begin with the same epoch.
        assert node.command("CLUSTER", "SET-CONFIG-EPOCH", str(at + 1)) == "OK"
    for other in nodes[1:]:
        met = other.command("CLUSTER", "MEET", "127.0.0.1", str(nodes[0].port), str(nodes[0].bus_port))
        assert met == "OK"
    deadline = time.monotonic() + SETTLING
    while not all(is_settled(node, len(nodes)) for node in nodes):
        assert time.monotonic() < deadline, f"not of one mind: {nodes[0].command('CLUSTER', 'INFO')}"
        time.sleep(0.02)  # nodes tell nobody that they agree


def is_settled(node: Node, count: int) -> bool:
    """Whether the node knows all others, and that all slots are served."""
    info = node.command("CLUSTER", "INFO").split()
    return {"cluster_state:ok", f"cluster_slots_ok:{SLOTS}", f"cluster_known_nodes:{count}"} <= set(info)
