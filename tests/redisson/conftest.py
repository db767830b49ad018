"""One server, one JVM with Redisson and one client of ours for the whole run: every test has a lock of its own name."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "interop"))

import libdlock
from helpers import Fleet, Server, eventually
from redisson import Peer, Redisson
from sides import Process, Thread
from wire import Wire

pytest_plugins = ["interop_fixtures"]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--handovers", type=int, default=1000, help="how many hand-overs the alternating test makes")


@pytest.fixture(scope="session")
def process(fleet: Fleet) -> Callable[[str], Process]:
    """A worker process of a language, with the poll at 30 s and the lease at 60 s."""
    return lambda language: Process(fleet.worker(language, "beside Redisson"))


@pytest.fixture(scope="session")
def peer() -> Iterator[Peer]:
    peer = Peer()
    yield peer
    peer.kill()


@pytest.fixture(scope="session")
def theirs(peer: Peer, fleet: Fleet) -> Iterator[Redisson]:
    """A Redisson client with its defaults."""
    redisson = peer.open(fleet.server.admin_url)
    yield redisson
    redisson.close()


@pytest.fixture(scope="session")
def ours(fleet: Fleet) -> Iterator[libdlock.Client]:
    """A client of ours that polls so seldom that only a message can wake it."""
    with libdlock.connect(fleet.server.url, poll_interval=30) as client:
        yield client


@pytest.fixture
def here() -> Thread:
    """A thread of this process."""
    return Thread()


@pytest.fixture
def wire(fleet: Fleet) -> Iterator[Wire]:
    with Wire(fleet.server.port) as wire:
        yield wire


@pytest.fixture
def redisson(peer: Peer, server: Server) -> Iterator[Redisson]:
    """A Redisson client on a server where nobody else is, so that every command on it is seen."""
    redisson = peer.open(server.admin_url)
    yield redisson
    redisson.close()


@pytest.fixture
def alone(server: Server) -> Iterator[Wire]:
    """What is on that server."""
    with Wire(server.port) as wire:
        yield wire


@pytest.fixture
def name(request: pytest.FixtureRequest, wire: Wire) -> Iterator[str]:
    """A lock of this test's own; nothing but its token is left of it in the end."""
    name = request.node.nodeid.rpartition("::")[2].removeprefix("test_").replace(" ", "-")
    yield name

    def left() -> set[str]:
        kept = ("redisson_lock_token:", "redisson_unlock_latch:")
        return {key for key in wire.all_keys() if name in key and not key.startswith(kept)}

    # A waiter that has given up leaves the queue in the background.
    eventually(f"no key of {name} is left", lambda: not left())
