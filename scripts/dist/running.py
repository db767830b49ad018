"""Short programs, and how they are run."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

PYTHON = """
import libdlock
with libdlock.connect("memory://") as client, client.lock("job", lease=5) as held:
    assert held.valid and client.rate_limiter("api", rate=1, per=60).try_acquire()
print("ok")
"""
NODE = """
import { connect } from "libdlock";
const client = await connect("memory://");
const held = await client.lock("job").acquire();
await held.release();
await client.close();
console.log("ok");
"""


def run(name: str, command: Sequence[str | Path], wants: str = "ok") -> list[str]:
    """What a program that is called so says beside what it is to say."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    except (OSError, subprocess.TimeoutExpired) as error:
        return [f"{name}: {error}"]
    if done.returncode != 0 or wants not in done.stdout:
        return [f"{name} ended with {done.returncode}: {done.stdout}{done.stderr}"]
    return []
