"""What costs no round trip: to lock and unlock what one holds; to count an event."""

from __future__ import annotations

from driver.bench import Bench, Runs, run
from driver.goals import Goal, at_most
from driver.programs import BLOCKING, JVM, PY, RUST, C
from driver.server import Server
from driver.tables import print_table


def measure(bench: Bench) -> list[Goal]:
    """One caller each."""
    runs = Runs()
    with Server() as server:
        for number in range(bench.rounds(3)):
            bench.say(f"reentry, round {number + 1}")
            for program in (RUST, BLOCKING, C, JVM, PY):
                runs.add(program.name, run(program, "reentry", server, 1, bench.seconds(1.0)))
            runs.add("count", run(RUST, "counting", server, 1, bench.seconds(1.0)))
    rows, goals = [], []
    for program in (RUST, BLOCKING, C, JVM, PY):
        each = 1e3 * runs.median(program, lambda found: found.each_us)
        requests = runs.median(program, lambda found: found.requests)
        rows.append([f"re-entry, {program.name}", f"{each:.0f} ns", f"{requests:.6f}"])
        if program is not PY:
            goals.append(at_most(f"re-entry, {program.name}: lock and unlock", 200, each, "ns"))
            goals.append(at_most(f"re-entry, {program.name}: round trips", 0, requests))
    count = 1e3 * runs.median("count", lambda found: found.each_us)
    rows.append(["a count of the statistics", f"{count:.1f} ns", "0"])
    goals.append(at_most("a count of the statistics", 20, count, "ns"))
    print_table("Without the server", ["", "each", "requests"], rows)
    return goals
