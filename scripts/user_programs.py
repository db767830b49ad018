"""Compiles and runs programs as their reader would: against the packages that `scripts/test-docs.sh` installs."""

from __future__ import annotations

import os
import subprocess
import unittest
from pathlib import Path

from private_redis import PrivateRedis

ROOT = Path(__file__).resolve().parent.parent
JAVA = [f"{os.environ['JAVA_HOME']}/bin/java" if "JAVA_HOME" in os.environ else "java", "-cp", "build/java/libdlock.jar"]
PYTHON = ["build/venv/bin/python", "-W", "error"]

_LIBRARY = ["-Ibuild/c/include", "-Lbuild/c/lib", "-ldlock", f"-Wl,-rpath,{ROOT}/build/c/lib"]
_COMPILERS = {".c": ["CC", "cc", "-std=c11"], ".cpp": ["CXX", "c++", "-std=c++17"]}


class WithServer(unittest.TestCase):
    """Tests of programs that share a server."""

    server: PrivateRedis

    @classmethod
    def setUpClass(cls) -> None:
        cls.server = PrivateRedis()
        cls.server.__enter__()
        cls.addClassCleanup(cls.server.stop)


def run(*command: str | Path, url: str = "") -> str:
    """The output of a command that must succeed; `url` is its REDIS_URL."""
    environment = {**os.environ, "REDIS_URL": url} if url else None
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 0, f"{command} ended with {done.returncode}: {done.stderr[-2000:]}"
    return done.stdout


def compiled(source: Path, binary: Path) -> list[str]:
    """What runs a program in C or C++."""
    variable, otherwise, standard = _COMPILERS[source.suffix]
    compiler = [os.environ.get(variable, otherwise), standard, "-Wall", "-Wextra", "-Werror"]
    binary.parent.mkdir(parents=True, exist_ok=True)
    run(*compiler, "-o", binary, source, *_LIBRARY)
    return [str(binary)]


def node(source: Path) -> list[str]:
    """What runs a program in Node, which looks for the package beside it."""
    beside = ROOT / "build/node-app" / source.name
    if source != beside:
        beside.write_bytes(source.read_bytes())
    return ["node", str(beside)]
