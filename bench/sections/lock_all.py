"""Several locks as one: ten that nobody holds, beside one lock that nobody holds."""

from __future__ import annotations

from driver.bench import Bench, Runs, median_ratio, run
from driver.costs import print_costs
from driver.goals import Goal, at_most
from driver.programs import RUST
from driver.server import Server

#: What is done, in the words of the table.
ONE, TEN = "Rust, a lock", "Rust, a set of ten"
ROWS = {ONE: "pairs", TEN: "sets"}
CALLERS = (1, 64)


def measure(bench: Bench) -> list[Goal]:
    """One table, for a caller alone and for many, each with locks of its own."""
    found = {callers: Runs() for callers in CALLERS}
    with Server() as server:
        for number in range(bench.rounds(5)):
            bench.say(f"lock_all, round {number + 1}")
            for callers, runs in found.items():
                for name, what in ROWS.items():
                    runs.add(name, run(RUST, what, server, callers, bench.seconds(1.2)))
    print_costs("Several locks acquired and released as one, nobody in the way", found, ROWS)
    alone = found[1]
    time = median_ratio([one.each_us for one in alone.of(TEN)], [one.each_us for one in alone.of(ONE)])
    return [
        at_most("lock_all of ten in one slot, free, 1 caller: time of one lock's pair", 2, time, "x"),
        at_most("lock_all of ten in one slot, free: scripts a pair", 2, alone.median(TEN, lambda found: found.requests)),
    ]
