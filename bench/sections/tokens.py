"""Processes that wait for the tokens of one rate limiter: one near and one far, and many of them."""

from __future__ import annotations

import statistics

from driver.bench import Bench, run
from driver.far import Far
from driver.goals import Goal, at_most, between
from driver.programs import RUST, floor
from driver.server import Server
from driver.tables import print_table
from driver.waits import Waits, merged
from driver.worker import Team

from .contended import HEADER, Contention, contend, row

#: What a round trip of the far process takes longer.
FAR_MS = 4
#: Tokens a second that the two share, and how many callers wait in each.
SHARED = 100
CALLERS = (1, 8)

PROCESSES = 32
#: Tokens a second of the many.
OF_MANY = 1000


def near_and_far(bench: Bench) -> list[Goal]:
    """Two processes, of which one reaches the server through a delay; all their callers always wait."""
    found: dict[int, list[tuple[Waits, Waits]]] = {}
    trips = []
    with Server() as server, Far(server, FAR_MS / 1e3) as far:
        for number in range(bench.rounds(3)):
            trips.append(run(floor("sockets"), "pings", server, 1, bench.seconds(0.5), far).each_us / 1e3)
            for callers in CALLERS:
                bench.say(f"tokens, near and far, {callers} callers, round {number + 1}")
                server.clear()
                what = f"tokens:{SHARED}"
                with Team([RUST.start(what, place, callers, bench.seconds(5.0)) for place in (server, far)]) as team:
                    team.ready()
                    team.go()
                    near, other = team.answers()
                found.setdefault(callers, []).append((merged([near]), merged([other])))
    rows, goals = [], []
    for callers, runs in found.items():
        share = statistics.median(100 * other.done / (near.done + other.done) for near, other in runs)
        for who, waits in (("near", [near for near, _ in runs]), ("far", [other for _, other in runs])):
            rows.append(
                [
                    f"Rust, {who}",
                    str(callers),
                    f"{statistics.median(one.per_second for one in waits):.1f}",
                    f"{statistics.median(one.p50_ms for one in waits):.1f} ms",
                    f"{statistics.median(one.p99_ms for one in waits):.1f} ms",
                ]
            )
        words = f"{callers} caller{'s' if callers > 1 else ''}"
        goals.append(
            between(f"{SHARED} tokens/s, near and far, {words} in each: the far process's share", 45, 55, share, "%")
        )
    print_table(
        f"{SHARED} tokens/s of one rate limiter, two processes, one with round trips of {statistics.median(trips):.1f} ms",
        ["", "callers", "grants/s", "p50 wait", "p99 wait"],
        rows,
    )
    return goals


def many(bench: Bench) -> list[Goal]:
    """Processes with a caller each."""
    runs: list[Contention] = []
    with Server() as server:
        for number in range(bench.rounds(3)):
            bench.say(f"tokens, {PROCESSES} processes, round {number + 1}")
            runs.append(contend(RUST, server, PROCESSES, 1, bench.seconds(5.0), "", f"tokens:{OF_MANY}"))
    print_table(
        f"{OF_MANY} tokens/s of one rate limiter, a caller in each process",
        [HEADER[0], HEADER[1], "grants/s", *HEADER[3:]],
        [row("Rust", PROCESSES, runs)],
    )
    scripts = statistics.median(one.requests for one in runs)
    return [at_most(f"{OF_MANY} tokens/s, {PROCESSES} x 1: scripts a grant", 2, scripts)]


def measure(bench: Bench) -> list[Goal]:
    """Two tables."""
    return [*near_and_far(bench), *many(bench)]
