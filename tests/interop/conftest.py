"""One server, and workers that stay for the whole run: a process of each language that waits, and one that is waited for."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import workers
from helpers import Fleet, Server

pytest_plugins = ["interop_fixtures"]


@pytest.fixture(scope="session")
def fleet(command: workers.Command) -> Iterator[Fleet]:
    server = Server()
    with server:
        fleet = Fleet(server, command)
        yield fleet
        fleet.end()
