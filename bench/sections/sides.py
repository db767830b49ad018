"""A read-write lock: readers of one process that share a hold, readers of many beside a writer now and then, and a mixture."""

from __future__ import annotations

import statistics

from driver.bench import Bench, Runs, median_ratio, run
from driver.goals import Goal, at_least, at_most
from driver.programs import JVM, REDISSON, RUST, C, small_jvm
from driver.server import Server
from driver.tables import print_table
from driver.waits import merged
from driver.worker import Team

from .contended import HEADER, Contention, contend, row

READERS = 64
#: In how many joins/s each is to serve them.
JOINS = {RUST: 1_000_000, C: 300_000, JVM: 300_000}
WAITERS = 8
PROCESSES = 16
#: For how long readers join a hold: the option's default.
SHARED_AGE_MS = 10


def joins(bench: Bench) -> list[Goal]:
    """Readers of one process, some of which are always inside."""
    found = Runs()
    with Server() as server:
        for number in range(bench.rounds(3)):
            bench.say(f"sides, joins, round {number + 1}")
            for program in JOINS:
                found.add(program.name, run(program, "reads", server, READERS, bench.seconds(1.2)))
    rows = [
        [
            program.name,
            f"{found.median(program.name, lambda one: one.per_second):.0f}",
            f"{1e3 * found.median(program.name, lambda one: one.requests):.2f}",
            f"{found.median(program.name, lambda one: one.client_us):.2f} us",
        ]
        for program in JOINS
    ]
    print_table(
        f"One read-write lock, {READERS} readers of one process", ["", "joins/s", "requests in 1,000", "client CPU"], rows
    )
    return [
        at_least(
            f"{READERS} readers, {program.name}: joins/s", least, found.median(program.name, lambda one: one.per_second)
        )
        for program, least in JOINS.items()
    ]


def beside_a_writer(bench: Bench) -> list[Goal]:
    """Readers of many processes; then the same with one writer a second."""
    reads: list[Contention] = []
    longest: list[float] = []
    handover: list[float] = []
    written = 0
    with Server() as server:
        for number in range(bench.rounds(3)):
            bench.say(f"sides, readers beside a writer, round {number + 1}")
            reads.append(contend(RUST, server, PROCESSES, WAITERS, bench.seconds(2.0), "", "many_reads"))
            handover.append(contend(RUST, server, 2, 1, bench.seconds(1.0), "strict_fifo=true").waits.p50_ms)
            server.clear()
            seconds = bench.seconds(8.0)
            readers = RUST.start("many_reads", server, WAITERS, seconds)
            writer = RUST.start("writes_now_and_then", server, 1, seconds)
            with Team([*[readers] * PROCESSES, writer]) as team:
                team.ready()
                team.go()
                waits = merged(team.answers()[-1:])
                written += waits.done
                longest.append(waits.longest_ms)
    print_table(
        f"The same of {PROCESSES} processes, {WAITERS} readers in each",
        HEADER,
        [row("Rust, readers alone", PROCESSES, reads)],
    )
    scripts = statistics.median(one.requests for one in reads)
    bound = 2 * SHARED_AGE_MS + 2 * statistics.median(handover)
    where = f"{PROCESSES} x {WAITERS} readers"
    return [
        at_most(f"{where}, no writer: scripts a read", 0.1, scripts),
        at_least(f"{where}: writes between them, one a second", 1, written),
        at_most(f"{where}, one writer a second: its longest wait", bound, statistics.median(longest), "ms"),
    ]


def mixed(bench: Bench) -> list[Goal]:
    """One turn of ten is a writer's."""
    theirs = small_jvm(REDISSON)
    found: dict[str, list[Contention]] = {RUST.name: [], JVM.name: [], theirs.name: []}
    with Server() as server:
        for number in range(bench.rounds(3)):
            bench.say(f"sides, 90/10, round {number + 1}")
            for program in (RUST, small_jvm(JVM), theirs):
                one = contend(program, server, PROCESSES, WAITERS, bench.seconds(2.0), "", "reads_and_writes")
                found[program.name].append(one)
    rows = [row(name, PROCESSES, runs) for name, runs in found.items()]
    print_table(f"Nine reads to a write, {WAITERS} callers in each process", HEADER, rows)

    def of(name: str) -> list[float]:
        return [one.waits.per_second for one in found[name]]

    return [
        at_least(
            f"90/10, {PROCESSES} x {WAITERS}, {name}: as often as Redisson", 3, median_ratio(of(name), of(theirs.name)), "x"
        )
        for name in (RUST.name, JVM.name)
    ]


def measure(bench: Bench) -> list[Goal]:
    """Three tables."""
    return [*joins(bench), *beside_a_writer(bench), *mixed(bench)]
