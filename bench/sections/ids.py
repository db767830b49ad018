"""Snowflake ids, which need no server."""

from __future__ import annotations

from driver.bench import Bench, Runs, run
from driver.goals import Goal
from driver.programs import AIO, OURS
from driver.server import Server
from driver.tables import print_table


def measure(bench: Bench) -> list[Goal]:
    """One by one beside batches; asyncio makes them by the same calls as Python's threads."""
    programs = [program for program in OURS if program is not AIO]
    runs = {"ids": Runs(), "batches": Runs()}
    with Server() as server:
        for number in range(bench.rounds(1)):
            bench.say(f"ids, round {number + 1}")
            for program in programs:
                for what, found in runs.items():
                    found.add(program.name, run(program, what, server, 1, bench.seconds(1.0)))
    rows = [
        [program.name, *(f"{found.median(program, lambda one: one.per_second):.0f}" for found in runs.values())]
        for program in programs
    ]
    print_table("Ids, 1 caller, without a server", ["ids/s", "one by one", "batches of 1000"], rows)
    return []
