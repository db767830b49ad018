"""How long after a release a waiter in another process has the lock."""

from __future__ import annotations

import itertools
import statistics
from typing import Any

from driver.bench import Bench, run
from driver.goals import Goal, at_most
from driver.programs import FENCED, OURS, PEERS, Program, floor
from driver.server import Place, Server
from driver.tables import print_table
from driver.worker import Team

SOCKETS = floor("sockets")


def latencies(answers: list[dict[str, Any]]) -> list[float]:
    """In ms, of those turns that came from the other process: each from the call of release to the return of acquire."""
    turns = sorted(
        (taken, released, process) for process, answer in enumerate(answers) for taken, released in answer["turns"]
    )
    return [
        (taken - released) * 1e-6
        for (_, released, before), (taken, _, after) in itertools.pairwise(turns)
        if before != after
    ]


def take_turns(program: Program, server: Place, seconds: float) -> list[float]:
    """Two processes of that program."""
    server.clear()
    with Team([program.start("handover", server, 1, seconds)] * 2) as team:
        team.ready()
        team.go()
        return latencies(team.answers())


def measure(bench: Bench) -> list[Goal]:
    """The round trip is measured just before each program, on the same server, as a bare socket's PING."""
    rows, goals = [], []
    with Server() as server:
        for program in (*OURS, *(peer for peer in PEERS if peer is not FENCED)):
            bench.say(f"handover, {program.name}")
            trips, found = [], []
            for _ in range(bench.rounds(3) if program in OURS else 1):
                trips.append(run(SOCKETS, "pings", server, 1, bench.seconds(0.5)).each_us / 1e3)
                found += take_turns(program, server, 0.5 if bench.quick else 2.0)
            if not found:
                rows.append([program.name, "0", "-", "-", "-", "-"])
                continue
            found.sort()
            trip, p50, p99 = statistics.median(trips), statistics.median(found), found[int(0.99 * len(found))]
            bound = 3 * trip + 1
            rows.append([program.name, str(len(found)), *(f"{ms:.3f} ms" for ms in (trip, p50, p99, found[-1]))])
            if program in OURS:
                goals.append(at_most(f"hand-over to a waiter in another process, {program.name}: p99", bound, p99, "ms"))
    header = ["", "hand-overs", "round trip", "p50", "p99", "longest"]
    print_table("From a release to a waiter in another process", header, rows)
    return goals
