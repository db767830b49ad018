"""A latch that a thousand callers wait for: how long after the last count-down all of them are through."""

from __future__ import annotations

import statistics
import time

from driver.bench import Bench
from driver.goals import Goal, at_most
from driver.programs import RUST
from driver.server import Server
from driver.tables import print_table
from driver.worker import Team, Worker

PROCESSES = 16
#: A thousand in all, and 8.
WAITERS = 63
CHANNEL = "redisson_countdownlatch__channel__{bench}"
MESSAGES = frozenset({"publish"})


def all_listen(server: Server) -> None:
    """Waits until each process has subscribed, and has looked once more after that."""
    for _ in range(1_000):
        if server.listeners(CHANNEL) == PROCESSES:
            time.sleep(0.2)
            return
        time.sleep(0.01)
    raise RuntimeError("not every process listens for the latch")


def released(server: Server) -> tuple[float, float, int]:
    """When the first and the last one were through, ms after the call that opened the latch; messages that were sent."""
    server.clear()
    server.command("SET", "bench", "1")
    with Team([RUST.start("latch_waits", server, WAITERS, 0)] * PROCESSES) as team:
        team.ready()
        with Worker(RUST.start("latch_opens", server, 1, 0)) as opens:
            opens.ready()
            all_listen(server)
            sent = server.spent(MESSAGES).requests
            team.go()
            opens.go()
            called = opens.answer()["called"]
            answers = team.answers()
            sent = server.spent(MESSAGES).requests - sent
    first, last = min(answer["first"] for answer in answers), max(answer["last"] for answer in answers)
    return (first - called) / 1e6, (last - called) / 1e6, sent


def measure(bench: Bench) -> list[Goal]:
    """One row: medians over the rounds."""
    runs = []
    with Server() as server:
        for number in range(bench.rounds(10)):
            bench.say(f"latch, round {number + 1}")
            runs.append(released(server))
    first, last, sent = (statistics.median(values) for values in zip(*runs, strict=True))
    print_table(
        f"One latch, {WAITERS} callers in each of {PROCESSES} processes wait for it",
        ["", "first through", "all through", "messages"],
        [["Rust", f"{first:.2f} ms", f"{last:.2f} ms", f"{sent:.0f}"]],
    )
    who = f"latch, {PROCESSES} x {WAITERS} waiters"
    return [
        at_most(f"{who}: all through after the last count_down", 20, last, "ms"),
        at_most(f"{who}: messages", 1, max(sent for _, _, sent in runs)),
    ]
