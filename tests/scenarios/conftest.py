"""Uses the helpers of the tests between languages. One server, and runners that stay for the whole run.

With pytest-xdist each process has its own; the scenarios of one language stay in one of them, so that no runner starts twice.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "interop"))

from helpers import Server
from more_servers import MoreServers
from runners import Runners


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        assert isinstance(item, pytest.Function)
        language = item.callspec.params["language"] if item.originalname == "test_scenario" else "several languages"
        item.add_marker(pytest.mark.xdist_group(language))


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
