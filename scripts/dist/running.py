"""How steps and short programs are run, and the programs."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from parts import ROOT

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


def call(*command: str | Path, cwd: Path = ROOT, env: dict[str, str] | None = None) -> str:
    """Runs a step, and returns its output, which is shown when it fails."""
    done = subprocess.run(command, cwd=cwd, env=os.environ | (env or {}), capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout


def run(name: str, command: Sequence[str | Path], wants: str = "ok", env: dict[str, str] | None = None) -> list[str]:
    """What a program that is called so says beside what it is to say, a pattern."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, env=os.environ | (env or {}))
    except (OSError, subprocess.TimeoutExpired) as error:
        return [f"{name}: {error}"]
    if done.returncode != 0 or not re.fullmatch(wants, done.stdout.strip()):
        return [f"{name} ended with {done.returncode}: {done.stdout}{done.stderr}"]
    return []
