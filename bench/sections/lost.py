"""A server that cannot be reached any more: when is a holder told that its lock is lost?"""

from __future__ import annotations

import statistics

from driver.bench import Bench
from driver.goals import Goal
from driver.programs import OURS, Program
from driver.server import Server
from driver.tables import print_table
from driver.worker import Worker

HOLDS = 100
#: So short that the run is, and long enough that nothing is renewed while the locks are taken.
OPTIONS = "lease=3s"
#: ms before the end of validity.
EARLIEST = 50.0


def margins(program: Program) -> list[float]:
    """How long before the end of validity each signal came, in ms; negative is too late."""
    with Server() as server, Worker(program.start("lost", server, HOLDS, 0, OPTIONS)) as worker:
        worker.ready()
        server.freeze()
        try:
            worker.go()
            return [float(margin) for margin in worker.answer()["margins_ms"]]
        finally:
            server.thaw()


def measure(bench: Bench) -> list[Goal]:
    """One language after the other."""
    rows, goals = [], []
    for program in OURS:
        bench.say(f"lost, {program.name}")
        found = margins(program)
        in_time = sum(0 < margin <= EARLIEST for margin in found)
        rows.append(
            [
                program.name,
                f"{in_time} of {len(found)}",
                *(f"{ms:.1f} ms" for ms in (max(found), statistics.median(found), min(found))),
            ]
        )
        goals.append(
            Goal(
                f"lost signal, server unreachable, {program.name}: in the last 50 ms before valid_until",
                f"{HOLDS} of {HOLDS}",
                f"{in_time} of {len(found)}",
                in_time == len(found) == HOLDS,
            )
        )
    header = ["", "in time", "earliest", "median", "latest"]
    print_table("Lost signals while the server does not answer: how long before valid_until", header, rows)
    return goals
