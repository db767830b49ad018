"""Decisions of one rate limiter, by the server and by tokens that were fetched ahead; and beside the peers' rate limiters."""

from __future__ import annotations

from driver.bench import Bench, Runs, run
from driver.goals import Goal, at_least, at_most
from driver.programs import (
    AIO,
    FLEXIBLE,
    JVM,
    LIMITER_PEERS,
    LIMITS,
    LIMITS_AIO,
    NODE,
    OURS,
    PY,
    RRATE_LIMITER,
    RUST,
    THROTTLED,
    THROTTLED_AIO,
    C,
    Program,
    floor,
)
from driver.server import Server
from driver.tables import print_table

SOCKETS, PIPELINE = floor("sockets"), floor("pipeline")

#: How many times as often as each peer ours is to decide. Of a peer with threads and with tasks the faster one counts.
BESIDE: dict[int, tuple[tuple[Program, tuple[Program, ...], float], ...]] = {
    1: (
        (PY, (LIMITS, LIMITS_AIO), 1.5),
        (PY, (THROTTLED, THROTTLED_AIO), 1.5),
        (JVM, (RRATE_LIMITER,), 3),
    ),
    64: (
        (PY, (LIMITS, LIMITS_AIO), 5),
        (PY, (THROTTLED, THROTTLED_AIO), 5),
        (JVM, (RRATE_LIMITER,), 3),
        (NODE, (FLEXIBLE,), 1.3),
    ),
}


def measure(bench: Bench) -> list[Goal]:
    """One caller, and 64; and one that hardly ever asks the server."""
    goals = []
    for callers in (1, 64):
        programs = [SOCKETS, *([PIPELINE] if callers > 1 else []), *OURS, *LIMITER_PEERS]
        runs = Runs()
        with Server() as server:
            for number in range(bench.rounds(3)):
                bench.say(f"decisions, {callers} callers, round {number + 1}")
                for program in programs:
                    runs.add(program.name, run(program, "decisions", server, callers, bench.seconds(1.2)))
        who = f"{callers} caller{'s' if callers > 1 else ''}"
        rows = [
            [
                program.name,
                f"{runs.median(program, lambda found: found.per_second):.0f}",
                f"{runs.faster(program, SOCKETS):.2f}",
                f"{runs.median(program, lambda found: found.requests):.2f}",
                f"{runs.median(program, lambda found: found.requests_us):.1f} us",
                f"{runs.median(program, lambda found: found.server_us):.1f} us",
                f"{runs.median(program, lambda found: found.client_us):.1f} us",
                program.lacks,
            ]
            for program in programs
        ]
        header = ["", "decisions/s", "of floor", "requests", "in requests", "server CPU", "client CPU", "lacks"]
        print_table(f"Decisions of one rate limiter, {who}", header, rows)
        goals += beside_peers(runs, callers, who)
    return goals + prefetched(bench)


def beside_peers(runs: Runs, callers: int, who: str) -> list[Goal]:
    """What that many callers have to reach."""
    goals = []
    for ours, peer, bound in BESIDE[callers]:
        best = max(peer, key=lambda program: runs.median(program, lambda found: found.per_second))
        often = runs.faster(ours, best)
        goals.append(at_least(f"decisions, {who}, {ours.name} beside {best.name}: as often", bound, often, "x"))
    return goals


def prefetched(bench: Bench) -> list[Goal]:
    """One caller of a limiter that fetches ahead."""
    runs = Runs()
    with Server() as server:
        for number in range(bench.rounds(3)):
            for program in OURS:
                bench.say(f"prefetched decisions, round {number + 1}, {program.name}")
                runs.add(program.name, run(program, "prefetched", server, 1, bench.seconds(2.0)))
    rows, goals = [], []
    for program, bound in (
        (RUST, 5_000_000),
        (C, 1_000_000),
        (PY, 500_000),
        (AIO, 500_000),
        (NODE, 500_000),
        (JVM, 1_000_000),
    ):
        each = 1e3 * runs.median(program, lambda found: found.each_us)
        per_second = runs.median(program, lambda found: found.per_second)
        scripts = runs.median(program, lambda found: found.requests * found.per_second)
        rows.append([program.name, f"{per_second:.0f}", f"{each:.0f} ns", f"{scripts:.1f}"])
        goals.append(at_least(f"prefetched decisions, {program.name}: in a second", bound, per_second))
        goals.append(at_most(f"prefetched decisions, {program.name}: scripts in a second", 50, scripts))
    header = ["", "decisions/s", "each", "scripts/s"]
    print_table("Decisions of one rate limiter that fetches ahead (leased tokens, one hot key), 1 caller", header, rows)
    return goals
