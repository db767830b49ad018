"""Uses the helpers of the tests between languages. One server, and runners that stay for the whole run."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "interop"))

from cluster_servers import ClusterServers
from helpers import Server
from runners import Runners
from sentinel_servers import SentinelServers
from tls_servers import TlsServers


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    server = Server()
    with server:
        yield server


@pytest.fixture(scope="session")
def running(server: Server) -> Iterator[Runners]:
    running = Runners(server)
    yield running
    running.end()


@pytest.fixture(scope="session")
def tls(server: Server) -> Iterator[TlsServers]:
    servers = TlsServers(server.port)
    yield servers
    servers.end()


@pytest.fixture(scope="session")
def sentinel(server: Server) -> Iterator[SentinelServers]:
    servers = SentinelServers(server.port)
    yield servers
    servers.end()


@pytest.fixture(scope="session")
def cluster() -> Iterator[ClusterServers]:
    servers = ClusterServers()
    yield servers
    servers.end()
