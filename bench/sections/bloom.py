"""Bloom filters in batches of 1,000 items: beside the floor, and beside Redisson's."""

from __future__ import annotations

from driver.bench import Bench, Runs, run
from driver.goals import Goal, at_least
from driver.programs import JVM, REDISSON, RUST, floor
from driver.server import Server
from driver.tables import print_table

FLOOR = floor("sockets")
#: One caller. The filter is for 10,000,000 items at 1 %; `add` has new items each time, `contains` the same ones, which it has.
PROGRAMS = {"floor": FLOOR, "Rust": RUST, "Java": JVM, "Redisson RBloomFilter": REDISSON}


def measure(bench: Bench) -> list[Goal]:
    """Each way by itself, on a server of its own."""
    goals, rows = [], []
    for what in ("bloom_add", "bloom_contains"):
        runs = Runs()
        with Server() as server:
            for number in range(bench.rounds(3)):
                bench.say(f"{what}, round {number + 1}")
                for name, program in PROGRAMS.items():
                    server.command("FLUSHALL")
                    runs.add(name, run(program, what, server, 1, bench.seconds(1.2)))
        rows += [
            [
                what.removeprefix("bloom_"),
                name,
                f"{runs.median(name, lambda one: one.per_second):.0f}",
                f"{runs.faster(name, 'floor'):.2f}",
                f"{runs.median(name, lambda one: one.client_us):.2f} us",
            ]
            for name in PROGRAMS
        ]
        goals.append(at_least(f"{what}, batches of 1,000, Rust: of the floor", 0.9, runs.faster("Rust", "floor")))
        often = runs.faster("Java", "Redisson RBloomFilter")
        goals.append(at_least(f"{what}, batches of 1,000, Java beside Redisson: as often", 3, often, "x"))
    print_table(
        "Items of one Bloom filter in batches of 1,000, 1 caller",
        ["", "", "items/s", "of floor", "client CPU"],
        rows,
    )
    return goals
