"""Decisions of one rate limiter."""

from __future__ import annotations

from driver.bench import Bench, Runs, run
from driver.goals import Goal
from driver.programs import OURS, floor
from driver.server import Server
from driver.tables import print_table

SOCKETS, PIPELINE = floor("sockets"), floor("pipeline")


def measure(bench: Bench) -> list[Goal]:
    """One caller, and 64."""
    for callers in (1, 64):
        programs = [SOCKETS, *([PIPELINE] if callers > 1 else []), *OURS]
        runs = Runs()
        with Server() as server:
            for number in range(bench.rounds(2)):
                bench.say(f"decisions, {callers} callers, round {number + 1}")
                for program in programs:
                    runs.add(program.name, run(program, "decisions", server, callers, bench.seconds(1.0)))
        rows = [
            [
                program.name,
                f"{runs.median(program, lambda found: found.per_second):.0f}",
                f"{runs.faster(program, SOCKETS):.2f}",
                f"{runs.median(program, lambda found: found.requests_us):.1f} us",
                f"{runs.median(program, lambda found: found.server_us):.1f} us",
                f"{runs.median(program, lambda found: found.client_us):.1f} us",
            ]
            for program in programs
        ]
        header = ["", "decisions/s", "of floor", "in requests", "server CPU", "client CPU"]
        print_table(f"Decisions of one rate limiter, {callers} caller{'s' if callers > 1 else ''}", header, rows)
    return []
