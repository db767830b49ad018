"""Each algorithm of the rate limiter: what a decision costs, and what a key takes on the server."""

from __future__ import annotations

from driver.bench import Bench, Runs, run
from driver.goals import Goal, at_least
from driver.programs import RUST, floor
from driver.server import Server
from driver.tables import print_table

from .keys import KEYS, ask_for

#: Those with scripts that the floor has too.
ALGORITHMS = ("gcra", "fixed_window", "aligned_window", "sliding_counter", "sliding_log")
SOCKETS, PIPELINE = floor("sockets"), floor("pipeline")


def measure(bench: Bench) -> list[Goal]:
    """One caller and 64, and a million keys with one decision each."""
    rows, goals = [], []
    for algorithm in ALGORITHMS:
        row = [algorithm]
        for callers, beneath in ((1, SOCKETS), (64, PIPELINE)):
            runs = Runs()
            with Server() as server:
                for number in range(bench.rounds(3)):
                    bench.say(f"{algorithm}, {callers} callers, round {number + 1}")
                    for program in (beneath, RUST):
                        runs.add(program.name, run(program, f"decisions:{algorithm}", server, callers, bench.seconds(1.0)))
            ratio = runs.faster(RUST, beneath)
            row += [
                f"{runs.median(RUST, lambda found: found.per_second):.0f}",
                f"{ratio:.2f}",
                f"{runs.median(RUST, lambda found: found.server_us):.1f} us",
            ]
            words = "1 caller" if callers == 1 else f"{callers} callers"
            goals.append(at_least(f"decisions by {algorithm}, Rust, {words}: of the floor", 0.9, ratio))
        bench.say(f"{algorithm}, a million keys")
        row.append(f"{ask_for(RUST, KEYS // 10 if bench.quick else KEYS, f'keys:{algorithm}').server_bytes_each:.0f}")
        rows.append(row)
    header = [
        "",
        "1 caller: decisions/s",
        "of floor",
        "server CPU",
        "64: decisions/s",
        "of floor",
        "server CPU",
        "bytes a key",
    ]
    print_table("Algorithms of the rate limiter", header, rows)
    return goals
