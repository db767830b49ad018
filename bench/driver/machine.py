"""What was measured on, and with what."""

from __future__ import annotations

import os
import platform
import re
import subprocess
from pathlib import Path

from .programs import jdk
from .server import PROGRAM, ROOT


def version(tool: str) -> str:
    """The version that a tool tells."""
    told = subprocess.run([tool, "--version"], check=True, capture_output=True, text=True)
    found = re.search(r"\d+\.[\d.]+", told.stdout)
    return found[0] if found else "?"


def commit() -> str:
    """Of this repository, and whether files differ from it."""
    said = subprocess.run(["git", "describe", "--always", "--dirty"], cwd=ROOT, capture_output=True, text=True)
    return said.stdout.strip() or "not known"


def peers() -> str:
    """The versions that bench/peers pins."""
    pinned = {
        "Redisson": ("redisson/pom.xml", r"<redisson.version>([^<]+)"),
        "redis-py": ("redis_py/requirements.txt", r"redis==(\S+)"),
        "redis-semaphore": ("redis_semaphore/package.json", r'"redis-semaphore": "([^"]+)'),
        "ioredis": ("redis_semaphore/package.json", r'"ioredis": "([^"]+)'),
        "redlock": ("redlock/package.json", r'"redlock": "([^"]+)'),
        "pottery": ("pottery/requirements.txt", r"pottery==(\S+)"),
        "rate-limiter-flexible": ("rate_limiter_flexible/package.json", r'"rate-limiter-flexible": "([^"]+)'),
        "limits": ("limits/requirements.txt", r"limits==(\S+)"),
        "throttled-py": ("throttled_py/requirements.txt", r"throttled-py==(\S+)"),
        "BullMQ": ("bullmq/package.json", r'"bullmq": "([^"]+)'),
        "rq": ("rq/requirements.txt", r"(?m)^rq==(\S+)"),
        "rslock": ("../rslock/Cargo.toml", r'rslock = \{ version = "=([^"]+)'),
    }
    told = []
    for name, (file, pattern) in pinned.items():
        found = re.search(pattern, (ROOT / "bench/peers" / file).read_text())
        told.append(f"{name} {found[1] if found else '?'}")
    return ", ".join(told)


def machine() -> str:
    """As the head of the tables."""
    model = next(
        (line.partition(":")[2].strip() for line in Path("/proc/cpuinfo").read_text().splitlines() if "model name" in line),
        platform.machine(),
    )
    cores = len(os.sched_getaffinity(0))
    return (
        f"- commit {commit()}\n"
        f"- {cores} cores of {model}; Linux {platform.release()}; {Path(PROGRAM).name} {version(PROGRAM)}; "
        f"rustc {version('rustc')}; Python {platform.python_version()}; Node {version('node')}; Java {version(jdk('java'))}\n"
        f"- peers: {peers()}"
    )
