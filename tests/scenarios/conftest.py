"""Uses the helpers of the tests between languages. One server, and runners that stay for the whole run."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "interop"))

from helpers import Server
from more_servers import MoreServers
from runners import Runners


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
def more(server: Server) -> Iterator[MoreServers]:
    more = MoreServers.beside(server)
    yield more
    more.end()
