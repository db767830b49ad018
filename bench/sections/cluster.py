"""What a cluster costs: pairs and hand-overs on one of six nodes beside those on one server."""

from __future__ import annotations

from driver.bench import Bench, Runs, run
from driver.goals import Goal, at_most
from driver.programs import BLOCKING, RUST, C, Program
from driver.server import ClusterServer, Server
from driver.tables import print_table

from sections.handover import take_turns

PROGRAMS = (BLOCKING, C, RUST)


def on_cluster(program: Program) -> str:
    return f"{program.name}, cluster"


def pairs(bench: Bench, server: Server, cluster: ClusterServer) -> list[Goal]:
    """Each program on one server and on the cluster, one after the other."""
    runs = Runs()
    for number in range(bench.rounds(5)):
        bench.say(f"cluster, pairs, round {number + 1}")
        for program in PROGRAMS:
            for name, place in ((program.name, server), (on_cluster(program), cluster)):
                runs.add(name, run(program, "pairs", place, 1, bench.seconds(1.2)))
    rows = []
    for program in PROGRAMS:
        for name in (program.name, on_cluster(program)):
            rows.append(
                [
                    name,
                    f"{runs.median(name, lambda found: found.per_second):.0f}",
                    f"{runs.faster(name, program):.2f}",
                    f"{runs.median(name, lambda found: found.client_us):.1f} us",
                ]
            )
    print_table("Pairs in a cluster, one caller", ["", "pairs/s", "of one server", "client CPU"], rows)
    return [
        at_most(
            f"pair in a cluster of 6 nodes, one caller, {program.name}: time of one on one server",
            1.1,
            1 / runs.faster(on_cluster(program), program),
            "x",
        )
        for program in PROGRAMS
    ]


def handovers(bench: Bench, server: Server, cluster: ClusterServer) -> list[Goal]:
    """From a release to a waiter in another process."""
    rows, goals = [], []
    for program in (C, RUST):
        found: dict[str, list[float]] = {}
        for number in range(bench.rounds(3)):
            bench.say(f"cluster, hand-overs, {program.name}, round {number + 1}")
            for name, place in ((program.name, server), (on_cluster(program), cluster)):
                found.setdefault(name, []).extend(take_turns(program, place, 0.5 if bench.quick else 2.0))
        p99 = {name: sorted(times)[int(0.99 * len(times))] for name, times in found.items()}
        for name, times in found.items():
            median = sorted(times)[len(times) // 2]
            rows.append([name, str(len(times)), f"{median:.3f} ms", f"{p99[name]:.3f} ms"])
        bound = p99[program.name] + 1
        goals.append(at_most(f"hand-over in a cluster, {program.name}: p99", bound, p99[on_cluster(program)], "ms"))
    print_table("Hand-overs in a cluster", ["", "hand-overs", "p50", "p99"], rows)
    return goals


def measure(bench: Bench) -> list[Goal]:
    """All servers are there all the time; those that are not measured have nothing to do."""
    with Server() as server, ClusterServer() as cluster:
        return [*pairs(bench, server, cluster), *handovers(bench, server, cluster)]
