"""What is measured: the workers of every language, the floor beside them, and the machine under them."""

from __future__ import annotations

import os
import platform
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

from measure import ROOT, PrivateRedis, Result, measure, redis_benchmark

#: One run on a server.
Program = Callable[[PrivateRedis], Result]

#: What needs no server, and is done by one caller.
ID_WORK = ("ids", "batches")

RELEASE = ROOT / "target/release"


def jdk(tool: str) -> str:
    """The JDK's tool that Maven would take."""
    home = os.environ.get("JAVA_HOME")
    return f"{home}/bin/{tool}" if home else tool


def workers() -> dict[str, list[str]]:
    """How each language's worker is started; all take the same arguments: what to do, URL, callers, seconds."""
    python, java = str(ROOT / "build/venv/bin/python"), f"{ROOT / 'build/bench'}:{ROOT / 'build/java/libdlock.jar'}"
    return {
        "Rust": [str(RELEASE / "libdlock-bench")],
        "C": [str(ROOT / "build/bench/worker")],
        "Python": [python, str(ROOT / "bench/worker.py")],
        "Python, asyncio": [python, str(ROOT / "bench/worker_aio.py")],
        "Node": ["node", str(ROOT / "build/node-app/bench-worker.mjs")],
        "Java": [jdk("java"), "-cp", java, "Worker"],
    }


def programs(what: str, callers: int, seconds: float) -> dict[str, Program]:
    """What is run for `pairs`, `decisions`, `ids` or `batches`; the first is what the others are compared with."""
    size = [str(callers), str(seconds)]

    def worker(command: list[str]) -> Program:
        return lambda server: measure(server, [*command, what, server.url, *size])

    languages = workers()
    if what in ID_WORK:
        # asyncio makes ids by the same calls as Python's threads.
        languages.pop("Python, asyncio")
        return {language: worker(command) for language, command in languages.items()}

    def floor(mode: str) -> Program:
        command = [str(RELEASE / "libdlock-floor"), what]
        return lambda server: measure(server, [*command, f"127.0.0.1:{server.port}", *size, mode])

    found = {"floor, a socket each": floor("sockets")}
    if callers > 1:
        found["floor, one socket"] = floor("pipeline")
    found |= {language: worker(command) for language, command in languages.items()}
    found["redis-benchmark"] = lambda server: redis_benchmark(server, callers, seconds, what)
    return found


def version(tool: str) -> str:
    """The version that a tool tells."""
    told = subprocess.run([tool, "--version"], check=True, capture_output=True, text=True)
    found = re.search(r"\d+\.[\d.]+", told.stdout)
    return found[0] if found else "?"


def machine() -> str:
    """What was measured on."""
    model = next(
        (line.partition(":")[2].strip() for line in Path("/proc/cpuinfo").read_text().splitlines() if "model name" in line),
        platform.machine(),
    )
    cores = len(os.sched_getaffinity(0))
    return (
        f"{cores} cores of {model}; Linux {platform.release()}; redis-server {version('redis-server')}; "
        f"rustc {version('rustc')}; Python {platform.python_version()}; Node {version('node')}; Java {version(jdk('java'))}"
    )
