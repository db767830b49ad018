"""The runners that stay for the whole run."""

from __future__ import annotations

import sys

import pytest
import runners
from helpers import Server
from runners import Runners

#: Says nothing to `wait`, and `ok` to all else.
RUNNER = """
print("ready", flush=True)
for line in iter(input, None):
    if line != "wait":
        print("ok", flush=True)
"""


def test_a_runner_that_owes_an_answer_is_replaced(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """The answer would be taken for that of a later scenario."""
    monkeypatch.setattr(runners, "command", lambda _: [sys.executable, "-c", RUNNER])
    running = Runners(server)
    first = running.get("Python", "redis", "")
    assert first.ask("open") == ["ok"]
    running.forget("Python", "redis", "")
    assert running.get("Python", "redis", "") is first
    first.tell("wait")
    running.forget("Python", "redis", "")
    assert running.get("Python", "redis", "") is not first
    running.end()
