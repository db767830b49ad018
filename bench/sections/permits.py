"""A semaphore: permits that are there for everybody, and ten of them that many processes want."""

from __future__ import annotations

import statistics

from driver.bench import Bench, Runs, median_ratio, run
from driver.costs import print_costs
from driver.goals import Goal, at_least, at_most
from driver.programs import JVM, NODE, REDISSON, RUST, SEMAPHORE, Program, floor
from driver.server import Server
from driver.tables import print_table

from .contended import HEADER, Contention, contend, row

CALLERS = (1, 64)
#: What is done, in the words of the table. All programs but the first share one semaphore of 64 permits.
LOCKS, EACH, SHARED = "Rust, a lock each", "Rust, a semaphore each", "Rust, one semaphore"
ROWS: dict[str, tuple[Program, str]] = {
    LOCKS: (RUST, "pairs"),
    EACH: (RUST, "permits_each"),
    SHARED: (RUST, "permits"),
    "Node, one semaphore": (NODE, "permits"),
    "redis-semaphore Semaphore": (SEMAPHORE, "permits"),
    "Java, one semaphore": (JVM, "permits"),
    "Redisson RPermitExpirableSemaphore": (REDISSON, "permits"),
}

WAITERS = 8
PROCESSES = (4, 16, 64)
FLOOR = floor("queue")
STRICT, COHORTS = "Rust, strict_fifo", "Rust, cohorts of 32"


def free(bench: Bench) -> list[Goal]:
    """Acquire and release where nobody has to wait for a permit."""
    found = {callers: Runs() for callers in CALLERS}
    with Server() as server:
        for number in range(bench.rounds(3)):
            bench.say(f"permits, round {number + 1}")
            for callers, runs in found.items():
                for name, (program, what) in ROWS.items():
                    runs.add(name, run(program, what, server, callers, bench.seconds(1.2)))
    print_costs("A permit acquired and released, 64 of them, nobody in the way", found, ROWS)
    goals = []
    for callers, runs in found.items():
        who = f"{callers} caller{'s' if callers > 1 else ''}"
        goals.append(at_most(f"permits free, {who}: time of the lock's pair", 1.15, runs.faster(LOCKS, EACH), "x"))
        java = runs.faster("Java, one semaphore", "Redisson RPermitExpirableSemaphore")
        goals.append(at_least(f"permits free, {who}, Java beside Redisson: as often", 2, java, "x"))
    node = found[64].faster("Node, one semaphore", "redis-semaphore Semaphore")
    goals.append(at_least("permits free, 64 callers, Node beside redis-semaphore: as often", 1.5, node, "x"))
    return goals


def few(bench: Bench) -> list[Goal]:
    """Ten permits, more callers than that, with nothing to do while they hold one."""
    found: dict[tuple[str, int], list[Contention]] = {}
    with Server() as server:
        for number in range(bench.rounds(3)):
            bench.say(f"ten permits, round {number + 1}")
            for processes in PROCESSES:
                for name, program, options in (
                    (FLOOR.name, FLOOR, ""),
                    (STRICT, RUST, "strict_fifo=true"),
                    (COHORTS, RUST, ""),
                ):
                    one = contend(program, server, processes, WAITERS, bench.seconds(2.0), options, "few_permits")
                    found.setdefault((name, processes), []).append(one)
    rows = [row(name, processes, runs) for (name, processes), runs in sorted(found.items(), key=lambda item: item[0][0])]
    print_table(f"Ten permits of one semaphore, {WAITERS} waiters in each process", HEADER, rows)
    goals = []
    for processes in PROCESSES:
        where = f"ten permits, {processes} x {WAITERS}"
        for name in (STRICT, COHORTS):
            scripts = statistics.median(one.requests for one in found[name, processes])
            goals.append(at_most(f"{where}, {name}: scripts a grant", 2.1, scripts))
        strict, bare = ([one.waits.per_second for one in found[name, processes]] for name in (STRICT, FLOOR.name))
        goals.append(at_least(f"{where}, {STRICT}: of the floor", 0.85, median_ratio(strict, bare), "x"))
        tail = statistics.median(one.waits.p99_ms / one.waits.mean_ms for one in found[STRICT, processes])
        goals.append(at_most(f"{where}, {STRICT}: p99 wait of the mean", 2, tail, "x"))
    return goals


def measure(bench: Bench) -> list[Goal]:
    """Two tables."""
    return [*free(bench), *few(bench)]
