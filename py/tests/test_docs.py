"""docs/python.md and the package's README do what they say."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest

import libdlock
from conftest import ROOT
from redis_server import RedisServer

GUIDE = (ROOT / "docs" / "python.md").read_text()
EXAMPLES = re.findall(r"^```python\n(.*?)^```$", GUIDE, re.DOTALL | re.MULTILINE)


def run(program: str, server: RedisServer) -> str:
    environment = {**os.environ, "REDIS_URL": server.url}
    command = [sys.executable, "-W", "ignore", "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_guide_starts_with_a_program_that_runs_as_shown(server: RedisServer) -> None:
    assert GUIDE.startswith("# libdlock for Python\n\n```python\n" + EXAMPLES[0])
    out = run(EXAMPLES[0], server)
    assert re.fullmatch(r"held, fencing token \d+\nfree again: True\n", out)


def test_the_section_on_asyncio_starts_with_a_program_that_runs_as_shown(server: RedisServer) -> None:
    before, section = GUIDE.split("\n## asyncio\n")
    first = EXAMPLES[before.count("```python\n")]
    assert section.startswith("\n```python\n" + first)
    assert re.fullmatch(r"held, fencing token \d+\nfree again: True\n", run(first, server))


def test_every_example_runs_in_order(server: RedisServer) -> None:
    assert len(EXAMPLES) > 6
    out = run("\n".join(EXAMPLES), server)
    assert "stop everything: expired" in out
    assert "stopped: expired" in out
    assert "processes in the queue: 0\n" in out
    assert "1 acquired, 0 waited, 99 of 100 within 0.0" in out


def test_the_guide_names_every_exception_and_every_option() -> None:
    from libdlock._options import Options

    public = {name for name in libdlock.__all__ if isinstance(getattr(libdlock, name), type)}
    errors = {name for name in public if issubclass(getattr(libdlock, name), libdlock.DlockError)}
    for name in errors | set(Options.__annotations__):
        assert f"`{name}`" in GUIDE, name


def test_the_readme_s_example_runs(server: RedisServer) -> None:
    readme = (ROOT / "py" / "README.md").read_text()
    (example,) = re.findall(r"^```python\n(.*?)^```$", readme, re.DOTALL | re.MULTILINE)
    if "redis://127.0.0.1:6379/0" not in example:
        pytest.fail("the README's URL changed, and this test with it")
    run("def write_report(fence): pass\n" + example.replace("redis://127.0.0.1:6379/0", server.url), server)
