"""Locks on five servers, of which a majority grants: one caller beside the bare rounds, and 64 beside other libraries."""

from __future__ import annotations

from driver.bench import Bench, Runs, median_ratio, run
from driver.goals import Goal, at_least, at_most
from driver.programs import BLOCKING, NODE, POTTERY, PY, REDLOCK, RUST, C, Program, floor
from driver.server import QuorumServer
from driver.tables import print_table

from .contended import HEADER, Contention, contend, row
from .pairs import table

CALLERS = 64
SOCKETS, PIPELINE = floor("sockets"), floor("pipeline")

#: Those that an acquire of two rounds is asked of, with a fifth on top.
NEAR_THE_FLOOR = (BLOCKING, C, RUST)
SLOWER = 1.2

OURS = (*NEAR_THE_FLOOR, PY, NODE)
PEERS = (REDLOCK, POTTERY)


def measured(bench: Bench, what: str, servers: QuorumServer, callers: int, programs: tuple[Program, ...]) -> Runs:
    """Every program, once in each round; more rounds where the margin is small."""
    runs = Runs()
    for number in range(bench.rounds(5 if callers == 1 else 3)):
        for program in programs:
            bench.say(f"quorum, {what}, {callers} callers, round {number + 1}, {program.name}")
            runs.add(program.name, run(program, what, servers, callers, bench.seconds(1.2)))
    return runs


def acquires(runs: Runs) -> None:
    """The first two of a pair's three rounds."""
    rows = []
    for program in (SOCKETS, *NEAR_THE_FLOOR):
        rows.append(
            [
                program.name,
                f"{runs.median(program, lambda found: found.each_us):.0f} us",
                f"{1 / runs.faster(program, SOCKETS):.2f}",
                f"{runs.median(program, lambda found: found.requests):.2f}",
                f"{runs.median(program, lambda found: found.server_us):.0f} us",
                f"{runs.median(program, lambda found: found.client_us):.0f} us",
            ]
        )
    header = ["", "each", "of floor", "requests", "server CPU", "client CPU"]
    print_table("Five servers: an acquire without the release, 1 caller", header, rows)


def near_the_floor(what: str, runs: Runs) -> list[Goal]:
    """What one caller has to reach."""
    goals = []
    for program in NEAR_THE_FLOOR:
        slower = median_ratio(runs.rates(SOCKETS), runs.rates(program))
        goals.append(
            at_most(f"{what} at five servers, one caller, {program.name}: time of the floor's", SLOWER, slower, "x")
        )
    return goals


def contended(bench: Bench, servers: QuorumServer) -> list[Goal]:
    """One lock that 64 callers of one process want."""
    found: dict[str, list[Contention]] = {}
    for number in range(bench.rounds(2)):
        for program in (*OURS, *PEERS):
            bench.say(f"quorum, contended, round {number + 1}, {program.name}")
            found.setdefault(program.name, []).append(contend(program, servers, 1, CALLERS, bench.seconds(2.0)))
    caption = f"Five servers: one lock, {CALLERS} callers in one process"
    print_table(caption, HEADER, [row(name, 1, runs) for name, runs in found.items()])

    rates = [[one.waits.per_second for one in found[program.name]] for program in (NODE, REDLOCK)]
    return [beside_redlock("one lock", median_ratio(*rates))]


def beside_redlock(what: str, as_often: float) -> Goal:
    """What 64 callers have to reach."""
    return at_least(f"{what} at five servers, {CALLERS} callers, Node beside redlock: as often", 3, as_often, "x")


def measure(bench: Bench) -> list[Goal]:
    """On the same five servers all the time."""
    with QuorumServer() as servers:
        alone = measured(bench, "acquires", servers, 1, (SOCKETS, *NEAR_THE_FLOOR))
        one = measured(bench, "pairs", servers, 1, (SOCKETS, *OURS, *PEERS))
        many = measured(bench, "pairs", servers, CALLERS, (SOCKETS, PIPELINE, *OURS, *PEERS))
        acquires(alone)
        table("Five servers: pairs, 1 caller, a lock each", (SOCKETS, *OURS, *PEERS), one)
        table(f"Five servers: pairs, {CALLERS} callers, a lock each", (SOCKETS, PIPELINE, *OURS, *PEERS), many)
        return [
            *near_the_floor("acquire", alone),
            *near_the_floor("pair", one),
            beside_redlock("pairs", many.faster(NODE, REDLOCK)),
            *contended(bench, servers),
        ]
