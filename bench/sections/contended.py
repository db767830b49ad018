"""One lock that many real processes want, 8 waiters in each, with nothing to do while it is held."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from dataclasses import dataclass

from driver.bench import Bench, median_ratio
from driver.goals import Goal, at_least, at_most
from driver.programs import FENCED, PEERS, REDIS_PY_AIO, REDISSON, RUST, Program, floor, small_jvm
from driver.server import Place, Server
from driver.tables import print_table
from driver.waits import Waits, merged
from driver.worker import Team

WAITERS = 8
PROCESSES = (1, 4, 16, 64)
#: Those over which the rate is to stay the same.
FLAT = (4, 16, 64)

FLOOR = floor("queue")
NO_COHORT, COHORT = "Rust, strict_fifo", "Rust, cohorts of 32"


@dataclass(frozen=True)
class Contention:
    """One run of a team."""

    waits: Waits
    requests: float  # for each hand-over
    server_share: float  # of a core
    client_share: float  # of a core, all processes together


def contend(
    program: Program,
    server: Place,
    processes: int,
    callers: int,
    seconds: float,
    options: str = "",
    what: str = "contended",
) -> Contention:
    """Runs a team on an empty server."""
    server.clear()
    with Team([program.start(what, server, callers, seconds, options)] * processes) as team:
        team.ready()
        before, cpu = server.spent(program.requests), team.cpu()
        team.go()
        waits = merged(team.answers())
        spent, cpu = server.spent(program.requests) - before, team.cpu() - cpu
    handovers = max(waits.all, 1)
    # What is counted goes on for as long as everything did.
    took = waits.seconds * waits.all / max(waits.done, 1)
    return Contention(waits, spent.requests / handovers, spent.cpu_us * 1e-6 / took, cpu / took)


def row(name: str, processes: int, runs: list[Contention]) -> list[str]:
    """A line of the table: medians over the rounds."""

    def of(value: Callable[[Contention], float]) -> float:
        return statistics.median(value(found) for found in runs)

    def if_any(text: str) -> str:
        """Of those who were granted nothing there is no wait to tell."""
        return text if of(lambda found: found.waits.done) else "none"

    return [
        name,
        str(processes),
        f"{of(lambda found: found.waits.per_second):.0f}",
        f"{of(lambda found: found.requests):.2f}",
        if_any(f"{of(lambda found: found.waits.p50_ms):.2f} ms"),
        if_any(f"{of(lambda found: found.waits.p99_ms):.2f} ms"),
        if_any(f"{of(lambda found: found.waits.p99_ms / found.waits.mean_ms):.2f}"),
        f"{of(lambda found: found.server_share):.2f}",
        f"{of(lambda found: found.client_share):.2f}",
    ]


HEADER = [
    "",
    "processes",
    "hand-overs/s",
    "requests each",
    "p50 wait",
    "p99 wait",
    "p99/mean",
    "server cores",
    "client cores",
]


def measure(bench: Bench) -> list[Goal]:
    """Floor, ours without and with cohorts, in every round; the peers once, since some of them need long."""
    found: dict[tuple[str, int], list[Contention]] = {}
    with Server() as server:
        for number in range(bench.rounds(3)):
            bench.say(f"contended, round {number + 1}")
            for processes in PROCESSES:
                for name, program, options in (
                    (FLOOR.name, FLOOR, ""),
                    (NO_COHORT, RUST, "strict_fifo=true"),
                    (COHORT, RUST, ""),
                ):
                    one = contend(program, server, processes, WAITERS, bench.seconds(2.0), options)
                    found.setdefault((name, processes), []).append(one)
    rows = [row(name, processes, runs) for (name, processes), runs in sorted(found.items(), key=lambda item: item[0][0])]
    rows += peers(bench)
    print_table(f"One lock, {WAITERS} waiters in each process", HEADER, rows)
    return goals(found)


def peers(bench: Bench) -> list[list[str]]:
    """Each once: some of them serve so few that more would take minutes."""
    rows = []
    for program in PEERS:
        # A fenced lock waits as any other of Redisson's; asyncio as threads do.
        if program in (FENCED, REDIS_PY_AIO):
            continue
        for processes in PROCESSES:
            bench.say(f"contended, {program.name}, {processes}")
            started = small_jvm(program) if program is REDISSON and processes > 4 else program
            with Server() as server:
                rows.append(row(program.name, processes, [contend(started, server, processes, WAITERS, bench.seconds(2.0))]))
    return rows


def goals(found: dict[tuple[str, int], list[Contention]]) -> list[Goal]:
    """What the queue and the cohort have to reach."""

    def rates(name: str, processes: int) -> list[float]:
        return [one.waits.per_second for one in found[name, processes]]

    goals = []
    for processes in FLAT:
        where = f"one lock, {processes} x {WAITERS}, no cohort"
        runs = found[NO_COHORT, processes]
        fraction = median_ratio(rates(NO_COHORT, processes), rates(FLOOR.name, processes))
        goals.append(at_least(f"{where}: of the floor", 0.85, fraction, "x"))
        goals.append(at_most(f"{where}: scripts a hand-over", 2.1, statistics.median(one.requests for one in runs)))
        tail = statistics.median(one.waits.p99_ms / one.waits.mean_ms for one in runs)
        goals.append(at_most(f"{where}: p99 wait of the mean", 2, tail, "x"))
    medians = [statistics.median(rates(NO_COHORT, processes)) for processes in FLAT]
    goals.append(
        at_most(
            "one lock, 4 to 64 x 8, no cohort: flat, (fastest - slowest) / fastest", 0.15, 1 - min(medians) / max(medians)
        )
    )
    for processes in FLAT:
        each = statistics.median(rates(COHORT, processes))
        goals.append(at_least(f"one lock, {processes} x {WAITERS}, cohort: hand-overs", 100_000, each, "/s"))
    return goals
