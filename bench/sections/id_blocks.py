"""Ids in blocks, one by one: beside Redisson's id generator."""

from __future__ import annotations

import sys

from driver.bench import Bench, Run, Runs, run
from driver.goals import Goal, at_least
from driver.programs import JVM, REDISSON, RUST, Program
from driver.server import Server
from driver.tables import print_table

CALLERS = (1, 64)
#: All callers share one generator, in blocks of 5,000.
ROWS: dict[str, tuple[Program, str]] = {
    "Rust": (RUST, "id_blocks"),
    "Java": (JVM, "id_blocks"),
    "Redisson RIdGenerator": (REDISSON, "id_blocks"),
}

#: Redisson's hangs now and then when many share it: no run of it takes so many seconds else.
LIMIT = 20.0


def per_second(one: Run) -> float:
    """How often."""
    return one.per_second


def add(runs: Runs, name: str, server: Server, callers: int, seconds: float) -> None:
    """One run, of Redisson's if it ends."""
    program, what = ROWS[name]
    try:
        runs.add(name, run(program, what, server, callers, seconds, limit=LIMIT))
    except RuntimeError:
        if program is not REDISSON:
            raise
        print(f"{name} with {callers} callers hung, and was ended after {LIMIT:.0f} s", file=sys.stderr)


def measure(bench: Bench) -> list[Goal]:
    """One and many callers of one generator."""
    found = {callers: Runs() for callers in CALLERS}
    with Server() as server:
        for number in range(bench.rounds(3)):
            bench.say(f"id blocks, round {number + 1}")
            for callers, runs in found.items():
                for name in ROWS:
                    add(runs, name, server, callers, bench.seconds(1.2))
    rows = [
        [
            name,
            str(callers),
            f"{runs.median(name, per_second):.0f}",
            f"{1_000 * runs.median(name, lambda one: one.requests):.2f}",
            f"{runs.median(name, lambda one: one.client_us):.2f} us",
        ]
        for callers, runs in found.items()
        for name in runs.by_name
    ]
    header = ["", "callers", "ids/s", "requests in 1,000", "client CPU"]
    print_table("Ids of one generator in blocks of 5,000, one by one", header, rows)
    goals = []
    for callers, runs in found.items():
        who = f"{callers} caller{'s' if callers > 1 else ''}"
        peer = runs.by_name.get("Redisson RIdGenerator")
        if not peer:
            continue  # nothing to stand beside
        often = runs.median("Java", per_second) / runs.median("Redisson RIdGenerator", per_second)
        goals.append(at_least(f"ids in blocks, {who}, Java beside Redisson: as often", 1, often, "x"))
    return goals
