"""Jobs of one delayed queue, put, taken and acknowledged: one by one and in batches; beside the floor and the peers' queues."""

from __future__ import annotations

from driver.bench import Bench, Runs, run, run_peer
from driver.goals import Goal, at_least
from driver.programs import (
    AIO,
    BLOCKING,
    BULLMQ,
    DELAYED_QUEUE,
    JVM,
    NODE,
    PY,
    RQ,
    RQ_SIMPLE,
    RUST,
    WITH_BLOCKING,
    Program,
    floor,
)
from driver.server import Server
from driver.tables import print_table

SOCKETS, PIPELINE = floor("sockets"), floor("pipeline")
PEERS = (BULLMQ, DELAYED_QUEUE, RQ, RQ_SIMPLE)

#: How many times as often as each peer ours is to do a job.
BESIDE = ((NODE, BULLMQ, 3), (JVM, DELAYED_QUEUE, 2), (PY, RQ, 10), (AIO, RQ, 10))

#: So many jobs a second in batches.
IN_BATCHES = ((RUST, 100_000), (NODE, 40_000), (JVM, 40_000), (PY, 40_000), (AIO, 40_000))
BATCHED = (SOCKETS, PIPELINE, RUST, PY, AIO, NODE, JVM, BULLMQ)


def measured(bench: Bench, what: str, callers: int, programs: tuple[Program, ...]) -> Runs:
    """Every program, once in each round."""
    runs = Runs()
    with Server() as server:
        for number in range(bench.rounds(3)):
            bench.say(f"{what}, {callers} callers, round {number + 1}")
            for program in programs:
                do = run_peer if program in PEERS else run
                runs.add(program.name, do(program, what, server, callers, bench.seconds(1.2)))
    return runs


def table(caption: str, programs: tuple[Program, ...], runs: Runs) -> None:
    """What a job costs."""
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
        if runs.has(program)
    ]
    header = ["", "jobs/s", "of floor", "requests", "in requests", "server CPU", "client CPU", "lacks"]
    print_table(caption, header, rows)


def measure(bench: Bench) -> list[Goal]:
    """One caller, and 64; one by one, and in batches."""
    goals = []
    for callers in (1, 64):
        who = f"{callers} caller{'s' if callers > 1 else ''}"
        programs = (SOCKETS, *([PIPELINE] if callers > 1 else []), *WITH_BLOCKING, *PEERS)
        runs = measured(bench, "jobs", callers, programs)
        table(f"Jobs put, taken and acknowledged, {who}", programs, runs)
        for ours in (RUST, BLOCKING):
            goals.append(at_least(f"jobs, {who}, {ours.name}: of the floor", 0.85, runs.faster(ours, SOCKETS)))
        for ours, peer, bound in BESIDE:
            if runs.has(peer):
                often = runs.faster(ours, peer)
                goals.append(at_least(f"jobs, {who}, {ours.name} beside {peer.name}: as often", bound, often, "x"))
    for callers in (1, 8):
        who = f"{callers} caller{'s' if callers > 1 else ''}"
        runs = measured(bench, "job_batches", callers, BATCHED)
        table(f"Jobs in batches of 100, {who}", BATCHED, runs)
        for ours, bound in IN_BATCHES:
            per_second = runs.median(ours, lambda found: found.per_second)
            goals.append(at_least(f"jobs in batches of 100, {who}, {ours.name}: in a second", bound, per_second))
    return goals
