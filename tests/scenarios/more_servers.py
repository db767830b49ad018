"""What the scenarios of some files meet beside the one server."""

from __future__ import annotations

from dataclasses import dataclass

from cluster_servers import ClusterServers
from helpers import Server
from quorum_servers import QuorumServers
from sentinel_servers import SentinelServers
from tls_servers import TlsServers


@dataclass(frozen=True)
class MoreServers:
    """Each belongs to the file of its name, and starts when a scenario of it first does."""

    tls: TlsServers
    sentinel: SentinelServers
    cluster: ClusterServers
    quorum: QuorumServers

    @classmethod
    def beside(cls, server: Server) -> MoreServers:
        return cls(TlsServers(server.port), SentinelServers(server.port), ClusterServers(), QuorumServers())

    def values(self, file: str) -> dict[str, str]:
        """What a scenario of that file may name."""
        servers: TlsServers | SentinelServers | ClusterServers | QuorumServers | None = getattr(self, file, None)
        return servers.values if servers else {}

    def end(self) -> None:
        """None is left."""
        for servers in (self.tls, self.sentinel, self.cluster, self.quorum):
            servers.end()
