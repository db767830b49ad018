"""The lost signal with the server away: in every language before the end of validity, and not long before."""

from __future__ import annotations

import os
import signal

import pytest
from helpers import Server, Start, Worker
from workers import LANGUAGES

#: It is given 25 ms before the end; a timer and a busy machine take their part of that.
EARLIEST = 50_000  # us
#: A machine that stood still for 25 ms tells late whatever the library does; it does not do so each time.
ATTEMPTS = 10


@pytest.mark.repeated
@pytest.mark.parametrize("language", LANGUAGES)
def test_a_loss_is_told_in_time(request: pytest.FixtureRequest, server: Server, start: Start, language: str) -> None:
    count: int = request.config.getoption("--losses")
    seen = []
    for attempt in range(ATTEMPTS):
        worker = start(language, server.url_with("lease=2s"))
        margins = lose(server, worker, f"held-{attempt}", count)
        seen.append(f"{min(margins)} to {max(margins)} us before the end")
        print(f"{language}: told {seen[-1]}")
        assert max(margins) <= EARLIEST, seen
        if min(margins) > 0:
            return
    raise AssertionError(f"told after the end each time: {seen}")


def lose(server: Server, worker: Worker, name: str, count: int) -> list[int]:
    """For each of so many holds of a worker, how long before its end (in us) the loss was told."""
    assert worker.ask(f"watch {name} {count}") == ["watching"]
    margins = []
    # A server that neither answers nor ends its connections.
    os.kill(server.pid, signal.SIGSTOP)
    try:
        for _ in range(count):
            kind, left = worker.answer(bound=20)
            assert kind == "lost"
            margins.append(int(left))
    finally:
        os.kill(server.pid, signal.SIGCONT)
    return margins
