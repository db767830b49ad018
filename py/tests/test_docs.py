"""The pages of docs/python and the package's README do what they say."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys

import pytest

import libdlock
from conftest import FACTS, ROOT
from redis_server import RedisServer

PAGES = {page.name: page.read_text() for page in (ROOT / "docs" / "python").glob("*.md")}
GUIDE = PAGES["README.md"]


def examples(page: str) -> list[str]:
    return re.findall(r"^```python\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)


FIRST = examples(GUIDE)[0]
#: What the examples of each page say, among other things.
SAID = {
    "README.md": [
        " s; retry: True\n",
        "stopped: expired\n",
        "gave up: True\n",
        "1 acquired, 0 waited, 99 of 100 within 0.0",
    ],
    "lock.md": ["stop everything: expired", "processes in the queue: 0\n"],
    "semaphore.md": ["one of at most ten at a time\n", "7 of 8\n"],
    "rw-lock.md": ["many look at the same time\n", "one changes it, with token", "nobody writes now\n"],
    "lock-all.md": ["account/7 with token", "lost: account/7\n", "stop: account/7\n"],
    "latch.md": ["one is ready, 1 left\n", "both are ready, 0 left\n", "not done yet: 1 missing\n"],
    "bloom-filter.md": ["users in 9585058 bits, 7 for each\n", "false positives now: True\n"],
    "queue.md": [
        "sends to: ada\n",
        "1 waits until it is due\n",
        "sends to: edsger",  # by threads, whose ends of lines may follow one another
        "dead: q3 TimeoutError\n",
    ],
    "id-generator.md": ["blocks of 5000\n"],
    "counting-semaphore.md": ["one of two, left: 1\n", "drained 5\n"],
    "frameworks.md": ['200 "orders";r=9;t=6\n', "to 42 mail 1\nrefused, again in 30 s\n"],
    "rate-limiter.md": ["go ahead, 19 left\n"],
    "ids.md": ["worker=7"],
    "operations-and-tests.md": [
        "invoice of 7 1",
        'dlock_client_held{client="orders",kind="lock"} 1.0\n',
        "no time has passed but 37",
    ],
    "worker.md": ["as worker 0\n", "all are taken, try again in"],
}


def run(program: str, server: RedisServer) -> str:
    environment = {**os.environ, "REDIS_URL": server.url}
    command = [sys.executable, "-W", "ignore", "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_guide_starts_with_a_program_that_runs_as_shown(server: RedisServer) -> None:
    assert GUIDE.startswith("# libdlock for Python\n\n```python\n" + FIRST)
    out = run(FIRST, server)
    assert re.fullmatch(r"held, fencing token \d+\nfree again: True\n", out)


def test_the_first_program_on_asyncio_runs_as_shown(server: RedisServer) -> None:
    before, section = GUIDE.split("\n## asyncio\n")
    first = examples(GUIDE)[len(examples(before))]
    assert section.startswith("\n```python\n" + first)
    assert re.fullmatch(r"held, fencing token \d+\nfree again: True\n", run(first, server))


@pytest.mark.parametrize("page", sorted(PAGES))
def test_the_examples_of_a_page_run_in_order(server: RedisServer, page: str) -> None:
    out = run("\n".join([FIRST, *(example for example in examples(PAGES[page]) if example != FIRST)]), server)
    for said in SAID[page]:
        assert said in out


def test_the_guide_names_every_exception_and_every_option() -> None:
    facts = json.loads((FACTS / "options.json").read_text())
    rows = [*facts["options"], *facts["password_sources"]]
    options = {f"{row['group']}.{row['name']}" if "group" in row else row["name"] for row in rows}
    public = {name for name in libdlock.__all__ if isinstance(getattr(libdlock, name), type)}
    errors = {name for name in public if issubclass(getattr(libdlock, name), libdlock.DlockError)}
    for name in {*errors, *options}:
        assert f"`{name}`" in GUIDE, name


def test_the_readme_s_example_runs(server: RedisServer) -> None:
    readme = (ROOT / "py" / "README.md").read_text()
    (example,) = examples(readme)
    if "redis://127.0.0.1:6379/0" not in example:
        pytest.fail("the README's URL changed, and this test with it")
    run("def write_report(fence): pass\n" + example.replace("redis://127.0.0.1:6379/0", server.url), server)
