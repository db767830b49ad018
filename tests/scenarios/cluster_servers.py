"""What the scenarios of Cluster meet: three nodes that share the slots, and a server that is none of them."""

from __future__ import annotations

from contextlib import ExitStack
from functools import cached_property

import helpers  # noqa: F401  scripts/ is on the path from there on
from private_cluster import PrivateCluster
from private_redis import PrivateRedis, free_port


class Alone(PrivateRedis):
    """A server that is no node of a cluster, and says so to everybody."""

    every_right = True


class ClusterServers:
    """Started when a scenario first names one of them, and kept."""

    def __init__(self) -> None:
        self._open = ExitStack()

    @cached_property
    def values(self) -> dict[str, str]:
        """What a scenario may name, as `$cluster.url`."""
        cluster = self._open.enter_context(PrivateCluster())
        alone = self._open.enter_context(Alone())
        values = {
            "url": cluster.url,
            "seed": f"valkey+cluster://127.0.0.1:{cluster.nodes[1].port}",
            "server_as_cluster": f"redis+cluster://127.0.0.1:{alone.port}",
            "nobody": f"redis+cluster://127.0.0.1:{free_port()},127.0.0.1:{free_port()}",
        }
        return {f"cluster.{name}": value for name, value in values.items()}

    def end(self) -> None:
        """No node is left."""
        self._open.close()
