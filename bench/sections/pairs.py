"""Lock and unlock by callers that do not meet: one, and 64 of them; what a pair costs the server beside Redisson's."""

from __future__ import annotations

from collections.abc import Iterable

from driver.bench import Bench, Run, Runs, median_ratio, run
from driver.goals import Goal, at_least, at_most
from driver.programs import (
    AIO,
    BLOCKING,
    JVM,
    NODE,
    PEERS,
    PY,
    REDIS_PY,
    REDIS_PY_AIO,
    REDISSON,
    RSLOCK,
    RUST,
    SEMAPHORE,
    WITH_BLOCKING,
    C,
    Program,
    floor,
)
from driver.server import Server
from driver.tables import print_table

SOCKETS, PIPELINE = floor("sockets"), floor("pipeline")


def measured(bench: Bench, callers: int) -> Runs:
    """Every program, once in each round."""
    programs = [SOCKETS, *([PIPELINE] if callers > 1 else []), *WITH_BLOCKING, *PEERS]
    runs = Runs()
    with Server() as server:
        for number in range(bench.rounds(3)):
            bench.say(f"pairs, {callers} callers, round {number + 1}")
            for program in programs:
                runs.add(program.name, run(program, "pairs", server, callers, bench.seconds(1.2)))
    return runs


def table(caption: str, programs: Iterable[Program], runs: Runs) -> None:
    """All there is to say about those that have run."""
    rows = []
    for program in programs:
        if program.name not in runs.by_name:
            continue
        rows.append(
            [
                program.name,
                f"{runs.median(program, lambda found: found.per_second):.0f}",
                f"{runs.faster(program, SOCKETS):.2f}",
                f"{runs.median(program, lambda found: found.requests):.2f}",
                *(
                    f"{runs.median(program, value):.1f} us"
                    for value in (
                        lambda found: found.requests_us,
                        lambda found: found.server_us,
                        lambda found: found.client_us,
                    )
                ),
                program.lacks,
            ]
        )
    header = ["", "pairs/s", "of floor", "requests", "in requests", "server CPU", "client CPU", "lacks"]
    print_table(caption, header, rows)


def alone(runs: Runs) -> list[Goal]:
    """What one caller has to reach."""
    goals = []
    for program, bound in ((BLOCKING, 1.15), (C, 1.15), (JVM, 1.25), (PY, 1.25)):
        slower = median_ratio(runs.rates(SOCKETS), runs.rates(program))
        goals.append(at_most(f"pair, one caller, {program.name}: time of the floor's", bound, slower, "x"))
    return goals + beside_peers(
        runs,
        "pair, one caller",
        (JVM, REDISSON, 1.5),
        (PY, REDIS_PY, 1.5),
        (AIO, REDIS_PY_AIO, 0.7),
        (NODE, SEMAPHORE, 0.7),
        (RUST, RSLOCK, 0.7),
    )


def many(runs: Runs) -> list[Goal]:
    """What 64 callers have to reach."""
    goals = [
        at_least(f"pairs, 64 callers, Rust: of the {other.name}", 0.85, runs.faster(RUST, other), "x")
        for other in (SOCKETS, PIPELINE)
    ]
    return goals + beside_peers(
        runs,
        "pairs, 64 callers",
        (PY, REDIS_PY, 5),
        (AIO, REDIS_PY_AIO, 5),
        (JVM, REDISSON, 2),
        (NODE, SEMAPHORE, 0.9),
        (RUST, RSLOCK, 0.7),
    )


def beside_peers(runs: Runs, where: str, *pairs: tuple[Program, Program, float]) -> list[Goal]:
    """How much more often than a peer each of ours has to do it."""
    return [
        at_least(f"{where}, {ours.name} beside {theirs.name}: as often", bound, runs.faster(ours, theirs), "x")
        for ours, theirs, bound in pairs
    ]


def server_time(runs: Runs, callers: int) -> list[Goal]:
    """What a pair costs the server, token and queue included, beside Redisson's pair without either."""

    def beside(value: str) -> float:
        def of(found: Run) -> float:
            return float(getattr(found, value))

        return median_ratio([of(found) for found in runs.of(RUST)], [of(found) for found in runs.of(REDISSON)])

    who = f"{callers} caller{'s' if callers > 1 else ''}"
    return [
        at_most(f"a pair's server time beside Redisson's, {who}: in its requests", 1.3, beside("requests_us"), "x"),
        at_most(f"a pair's server time beside Redisson's, {who}: CPU of the process", 1.3, beside("server_us"), "x"),
    ]


def measure(bench: Bench) -> list[Goal]:
    """Prints a table for each number of callers."""
    one, sixty_four = measured(bench, 1), measured(bench, 64)
    everybody = (SOCKETS, PIPELINE, *WITH_BLOCKING, *PEERS)
    table("Pairs, 1 caller, a lock each", everybody, one)
    table("Pairs, 64 callers, a lock each", everybody, sixty_four)
    return [*alone(one), *many(sixty_four), *server_time(one, 1), *server_time(sixty_four, 64)]
