"""Ids in blocks, one by one: beside Redisson's id generator."""

from __future__ import annotations

from driver.bench import Bench, Runs, run, run_peer
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


def measure(bench: Bench) -> list[Goal]:
    """One and many callers of one generator."""
    found = {callers: Runs() for callers in CALLERS}
    with Server() as server:
        for number in range(bench.rounds(3)):
            bench.say(f"id blocks, round {number + 1}")
            for callers, runs in found.items():
                for name, (program, what) in ROWS.items():
                    do = run_peer if program is REDISSON else run
                    runs.add(name, do(program, what, server, callers, bench.seconds(1.2)))
    rows = [
        [
            name,
            str(callers),
            f"{runs.median(name, lambda one: one.per_second):.0f}",
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
        if "Redisson RIdGenerator" not in runs.by_name:
            continue  # it hung in every round: there is nothing to stand beside
        often = runs.faster("Java", "Redisson RIdGenerator")
        goals.append(at_least(f"ids in blocks, {who}, Java beside Redisson: as often", 1, often, "x"))
    return goals
