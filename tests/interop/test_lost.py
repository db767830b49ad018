"""The lost signal with the server away: in every language before the end of validity, and not long before."""

from __future__ import annotations

import os
import signal

import pytest
from helpers import Server, Start
from workers import LANGUAGES

#: It is given 25 ms before the end; a timer and a busy machine take their part of that.
EARLIEST = 50_000  # us


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_loss_is_told_in_time(request: pytest.FixtureRequest, server: Server, start: Start, language: str) -> None:
    count: int = request.config.getoption("--losses")
    worker = start(language, server.url_with("lease=2s"))
    assert worker.ask(f"watch held {count}") == ["watching"]
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
    print(f"{language}: told {min(margins)} to {max(margins)} us before the end")
    assert min(margins) > 0
    assert max(margins) <= EARLIEST
