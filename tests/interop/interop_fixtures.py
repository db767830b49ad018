"""The fixtures of the tests between languages: a private server, and workers in every language, built when first started.

A plugin of pytest rather than a conftest.py, so that tests/redisson can use it too: `pytest_plugins = ["interop_fixtures"]`.
"""

from __future__ import annotations

import functools
import subprocess
from collections.abc import Generator, Iterator

import pytest
import workers
from helpers import PROGRAM, Fleet, Server, Start, Worker, Workers


def pytest_report_header() -> str:
    """Which server the tests run on."""
    told = subprocess.run([PROGRAM, "--version"], check=True, capture_output=True, text=True).stdout
    return f"server: {' '.join(told.split()[:3])} ({PROGRAM})"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """After a failure the next test gets other processes."""
    report = yield
    if report.failed:
        for workers in Workers.there:
            workers.end()
    return report


@pytest.fixture
def server() -> Iterator[Server]:
    server = Server()
    with server:
        yield server


@pytest.fixture(scope="session")
def command() -> workers.Command:
    """How a language's worker is started; builds it the first time."""
    return functools.cache(workers.command)


@pytest.fixture(scope="session")
def fleet(command: workers.Command) -> Iterator[Fleet]:
    """A server and workers that stay for the whole run."""
    server = Server()
    with server:
        fleet = Fleet(server, command)
        yield fleet
        fleet.end()


@pytest.fixture
def start(command: workers.Command) -> Iterator[Start]:
    """Starts workers, and ends them with the test."""
    running: list[Worker] = []

    def start(language: str, url: str) -> Worker:
        running.append(Worker([*command(language), url]))
        return running[-1]

    yield start
    for worker in running:
        worker.kill()
