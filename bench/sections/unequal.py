"""A process with a single caller among processes with many: what a hand-over inside a process costs those outside of it."""

from __future__ import annotations

import math
import statistics

from driver.bench import Bench, median_ratio
from driver.goals import Goal, at_most
from driver.programs import RUST
from driver.server import Server
from driver.tables import print_table
from driver.waits import merged
from driver.worker import Team

CALLERS = 8
CROWDS = (15, 63)
FAIR = "strict_fifo"
OPTIONS = {FAIR: "strict_fifo=true", "default": "", "cohort_age=5ms": "cohort_age=5ms", "cohort_age=50ms": "cohort_age=50ms"}


def contend(server: Server, crowd: int, seconds: float, options: str) -> tuple[float, float]:
    """The single caller's p50 in ms, and grants of all a second."""
    server.clear()
    callers = [1, *[CALLERS] * crowd]
    with Team([RUST.start("unequal", server, count, seconds, options) for count in callers]) as team:
        team.ready()
        team.go()
        answers = team.answers()
    return merged(answers[:1]).p50_ms, merged(answers).per_second


def in_ms(found: list[float]) -> str:
    """The median; a short run may grant the single caller nothing."""
    return "none" if any(map(math.isnan, found)) else f"{statistics.median(found):.0f} ms"


def measure(bench: Bench) -> list[Goal]:
    """Each option in every round; the goal is the default's ratio to strict_fifo."""
    found: dict[tuple[int, str], list[tuple[float, float]]] = {}
    with Server() as server:
        for number in range(bench.rounds(3)):
            for crowd in CROWDS:
                for name, options in OPTIONS.items():
                    bench.say(f"unequal, round {number + 1}, {crowd} processes, {name}")
                    one = contend(server, crowd, bench.seconds(5.0 if crowd < 20 else 10.0), options)
                    found.setdefault((crowd, name), []).append(one)
    rows = [
        [
            name,
            str(crowd),
            in_ms([p50 for p50, _ in runs]),
            f"{statistics.median(rate for _, rate in runs):.0f}",
        ]
        for (crowd, name), runs in found.items()
    ]
    header = ["", f"processes of {CALLERS}", "p50 of the single caller", "grants/s"]
    print_table("One caller among processes of 8, each hold 2 ms", header, rows)
    goals = []
    for crowd in CROWDS:
        ours, fair = ([p50 for p50, _ in found[crowd, name]] for name in ("default", FAIR))
        goals.append(
            at_most(f"one caller among {crowd} x {CALLERS}: p50 of strict_fifo's", 1.7, median_ratio(ours, fair), "x")
        )
    return goals
