"""Snowflake ids, which need no server; and those of a leased worker number, which ask it three times in a lease."""

from __future__ import annotations

from driver.bench import Bench, Runs, median_ratio, run
from driver.goals import Goal, at_least
from driver.programs import AIO, OURS, RUST
from driver.server import Server
from driver.tables import print_table

#: What is made under a number that is given, and the same under a leased one. `wide` is a layout with room for a million ids
#: a millisecond: there an id costs what it costs, and not what the layout allows.
LEASED = {"one by one": ("ids", "leased_ids"), "batches of 1000": ("batches", "leased_batches")}
WIDE = ("wide_ids", "leased_wide_ids")


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
    return leased(bench)


def leased(bench: Bench) -> list[Goal]:
    """What a leased number costs beside one that is given."""
    found = Runs()
    with Server() as server:
        for number in range(bench.rounds(5)):
            bench.say(f"ids of a leased number, round {number + 1}")
            for what in [*sum(LEASED.values(), ()), *WIDE]:
                found.add(what, run(RUST, what, server, 1, bench.seconds(1.0)))
    ratios = {how: median_ratio(found.rates(of), found.rates(given)) for how, (given, of) in LEASED.items()}
    rows = [
        [
            kind,
            *(f"{found.median(pair[at], lambda one: one.per_second):.0f}" for pair in LEASED.values()),
            each(found, WIDE[at]),
        ]
        for at, kind in enumerate(("given", "leased"))
    ]
    header = ["ids/s", *LEASED, "of a wide layout, each"]
    print_table("Ids of a worker number that is given, and of one that is leased, 1 caller, Rust", header, rows)
    return [at_least(f"ids of a leased number, {how}: of a given one", 0.98, ratio) for how, ratio in ratios.items()]


def each(found: Runs, what: str) -> str:
    return f"{1000 * found.median(what, lambda one: one.each_us):.0f} ns"
