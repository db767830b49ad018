"""One lock that 64 callers of one process want: threads or tasks, as the language has them."""

from __future__ import annotations

import statistics

from driver.bench import Bench, median_ratio
from driver.goals import Goal, at_least
from driver.programs import AIO, FENCED, JVM, NODE, PEERS, PY, REDIS_PY, REDIS_PY_AIO, RUST, SEMAPHORE, WITH_BLOCKING, C
from driver.server import Server
from driver.tables import print_table

from .contended import HEADER, Contention, contend, row

CALLERS = 64


def measure(bench: Bench) -> list[Goal]:
    """All in every round: a peer that asks from time to time is as slow as its timer, and no slower."""
    found: dict[str, list[Contention]] = {}
    with Server() as server:
        for number in range(bench.rounds(2)):
            for program in (*WITH_BLOCKING, *(peer for peer in PEERS if peer is not FENCED)):
                bench.say(f"local, round {number + 1}, {program.name}")
                found.setdefault(program.name, []).append(contend(program, server, 1, CALLERS, bench.seconds(2.0)))
    print_table(f"One lock, {CALLERS} callers in one process", HEADER, [row(name, 1, runs) for name, runs in found.items()])

    def rates(name: str) -> list[float]:
        return [one.waits.per_second for one in found[name]]

    goals = []
    for program, bound in ((RUST, 100_000), (C, 50_000), (JVM, 30_000)):
        each = statistics.median(rates(program.name))
        goals.append(at_least(f"one lock, {CALLERS} callers in one process, {program.name}: hand-overs", bound, each, "/s"))
    best = max((REDIS_PY, REDIS_PY_AIO), key=lambda peer: statistics.median(rates(peer.name)))
    for ours, theirs in ((PY, best), (AIO, best), (NODE, SEMAPHORE)):
        better = median_ratio(rates(ours.name), rates(theirs.name))
        where = f"one lock, {CALLERS} callers in one process, {ours.name} beside {theirs.name}: as often"
        goals.append(at_least(where, 10, better, "x"))
    return goals
