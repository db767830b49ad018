"""A private server and a compiled C++ worker for the tests between languages."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from helpers import Server, Start, Worker

HERE = Path(__file__).parent
ROOT = HERE.parent.parent


@pytest.fixture
def server() -> Iterator[Server]:
    server = Server()
    with server:
        yield server


@pytest.fixture(scope="session")
def cpp_worker(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The C++ worker, compiled against the library and headers that scripts/c-library.sh stages."""
    subprocess.run([ROOT / "scripts" / "c-library.sh"], check=True)
    stage = ROOT / "build" / "c"
    program = tmp_path_factory.mktemp("interop") / "worker"
    compiler = os.environ.get("CXX", "c++")
    flags = ["-std=c++17", "-O1", "-Wall", "-Wextra", "-Werror"]
    library = [f"-I{stage}/include", f"-L{stage}/lib", "-ldlock", f"-Wl,-rpath,{stage}/lib"]
    subprocess.run([compiler, *flags, HERE / "worker.cpp", "-o", program, *library], check=True)
    return program


@pytest.fixture
def start(cpp_worker: Path) -> Iterator[Start]:
    """Starts workers, and ends them with the test."""
    commands = {"C++": [str(cpp_worker)], "Python": [sys.executable, str(HERE / "worker.py")]}
    workers: list[Worker] = []

    def start(language: str, url: str) -> Worker:
        workers.append(Worker([*commands[language], url]))
        return workers[-1]

    yield start
    for worker in workers:
        worker.kill()
