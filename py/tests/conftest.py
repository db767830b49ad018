"""Fixtures: one redis-server for the run, a client on it or on `memory://`, names that no other test uses."""

from __future__ import annotations

import asyncio
import itertools
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from pathlib import Path

import pytest
import uvloop

import libdlock
from libdlock import aio
from proxy import Proxy
from redis_server import RedisServer

ROOT = Path(__file__).resolve().parents[2]
VECTORS = ROOT / "tests" / "vectors"
FACTS = ROOT / "api"

LOOPS: dict[str, Callable[[], asyncio.AbstractEventLoop]] = {
    "asyncio": asyncio.new_event_loop,
    "uvloop": uvloop.new_event_loop,
}

# A shell that starts a job in the background has it ignore Ctrl-C, and so would every program that the tests start.
signal.signal(signal.SIGINT, signal.default_int_handler)

#: A bound on time has to be kept in one of these: a busy machine adds to some of them, the library would add to each.
TRIES = range(5)

_numbers = itertools.count()


def pytest_asyncio_loop_factories() -> Mapping[str, Callable[[], asyncio.AbstractEventLoop]]:
    """Every test that is a coroutine runs on each of these."""
    return LOOPS


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--long", action="store_true", help="also the tests of check-long; -m long for these alone"
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if not config.getoption("--long"):
        skip = pytest.mark.skip(reason="part of check-long")
        for item in items:
            if "long" in item.keywords:
                item.add_marker(skip)


@pytest.fixture(scope="session")
def server() -> Iterator[RedisServer]:
    server = RedisServer().start()
    yield server
    server.stop()


@pytest.fixture
def own_server() -> Iterator[RedisServer]:
    """A server that the test may kill."""
    server = RedisServer().start()
    yield server
    server.stop()


@pytest.fixture(scope="session")
def broker() -> Iterator[str]:
    """The URL of a server that asks for a password, and the broker of `celery_app` in this process."""
    import celery_app  # half a second, which most tests need not

    password = "tests"
    server = RedisServer("--requirepass", password).start()
    url = f"redis://:{password}@127.0.0.1:{server.port}/0"
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(celery_app.app.conf, "broker_url", url)
        patch.setitem(celery_app.app.conf, "result_backend", url)
        yield url
    celery_app.app.close()
    server.stop()


@pytest.fixture
def proxy(server: RedisServer) -> Iterator[Proxy]:
    proxy = Proxy(server.port)
    yield proxy
    proxy.close()


@pytest.fixture
def name() -> str:
    return f"lock-{next(_numbers)}"


@pytest.fixture(params=["redis", "memory"])
def url(request: pytest.FixtureRequest) -> str:
    """Both backends. The memory one is shared within the process, and with no other test."""
    if request.param == "memory":
        return f"memory://test-{next(_numbers)}"
    server: RedisServer = request.getfixturevalue("server")
    return server.url


@pytest.fixture
def client(url: str) -> Iterator[libdlock.Client]:
    with libdlock.connect(url) as client:
        yield client


@pytest.fixture
def other(url: str) -> Iterator[libdlock.Client]:
    """A second client: to the lock, another process."""
    with libdlock.connect(url) as client:
        yield client


@pytest.fixture
async def aio_client(url: str) -> AsyncIterator[aio.Client]:
    async with aio.connect(url) as client:
        yield client


@pytest.fixture
async def aio_other(url: str) -> AsyncIterator[aio.Client]:
    async with aio.connect(url) as client:
        yield client


Python = Callable[..., "subprocess.Popen[str]"]


def breaks_within_100_ms(python: Python, program: str, *arguments: str) -> str:
    """Interrupts a program that says `waiting`, then waits, and says when the interrupt reached it. What it still writes."""
    for _ in TRIES:
        process = python(program, *arguments)
        assert process.stdout is not None
        assert process.stdout.readline() == "waiting\n"
        time.sleep(0.15)  # the subject is a wait that has begun, and nothing tells from outside that it has
        sent = time.monotonic()
        process.send_signal(signal.SIGINT)
        took = float(process.stdout.readline()) - sent
        rest = ended(process)
        if took < 0.1:
            return rest
    pytest.fail(f"the wait went on for {took} s")


def assert_named_elsewhere(thing: object, kind: str, verb: str, here: str) -> None:
    """A verb that an object of this kind has not: the error says what to use."""
    with pytest.raises(AttributeError) as raised:
        getattr(thing, verb)
    assert str(raised.value) == f"'{kind}' object has no attribute {verb!r}: use {here}"


def ended(process: subprocess.Popen[str]) -> str:
    """What the process still writes, once it has ended well. (`communicate` would miss what `readline` has buffered.)"""
    assert process.stdout is not None
    assert process.stderr is not None
    out, err = process.stdout.read(), process.stderr.read()
    assert process.wait(30) == 0, err
    return out


@pytest.fixture
def python() -> Iterator[Python]:
    """Starts Python programs given as text; what still runs at the end of the test is killed."""
    started: list[subprocess.Popen[str]] = []

    def start(program: str, *arguments: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-X", "dev", "-c", program, *arguments]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.wait()
        for pipe in (process.stdout, process.stderr):
            assert pipe is not None
            pipe.close()
