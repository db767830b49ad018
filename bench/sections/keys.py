"""Many keys of one rate limiter: batches beside single decisions, and a million keys."""

from __future__ import annotations

from dataclasses import dataclass

from driver.bench import Bench, Runs, run
from driver.goals import Goal, at_least, at_most
from driver.programs import PY, RUST, Program
from driver.server import Server
from driver.tables import print_table
from driver.worker import Worker

#: Those whose workers know batches.
PROGRAMS = (RUST, PY)

KEYS = 1_000_000


@dataclass(frozen=True)
class Known:
    """What a limiter with so many keys costs."""

    per_second: float
    client_before_kib: int
    client_after_kib: int
    server_bytes_each: float


def ask_for(program: Program, count: int, what: str = "keys") -> Known:
    """One decision of each key; nine of ten in batches of a hundred."""
    with Server() as server, Worker(program.start(what, server, count, 0)) as worker:
        worker.ready()
        before, memory = worker.status("VmRSS"), used_memory(server)
        worker.go()
        answer = worker.answer()
        assert answer["done"] == count
        present = int(server.command("DBSIZE"))
        assert present >= count, f"of {count} keys {present} are there"
        each = (used_memory(server) - memory) / count
        return Known(count / answer["seconds"], before, worker.status("VmRSS"), each)


def used_memory(server: Server) -> int:
    """By the server's own account."""
    lines = dict(line.split(":", 1) for line in server.command("INFO", "memory").splitlines() if ":" in line)
    return int(lines["used_memory"])


def measure(bench: Bench) -> list[Goal]:
    """A batch has 100 keys."""
    runs = {"decisions": Runs(), "decision_batches": Runs()}
    with Server() as server:
        for number in range(bench.rounds(3)):
            bench.say(f"keys, batches, round {number + 1}")
            for program in PROGRAMS:
                for what, found in runs.items():
                    found.add(program.name, run(program, what, server, 1, bench.seconds(1.0)))
    rows, goals = [], []
    for program in PROGRAMS:
        single, batches = (found.median(program, lambda one: one.per_second) for found in runs.values())
        rows.append([program.name, f"{single:.0f}", f"{batches:.0f}", f"{batches / single:.1f}"])
        goals.append(at_least(f"batches of 100 keys, {program.name}: of single decisions", 5, batches / single))
    header = ["decisions/s", "one by one", "batches of 100", "times"]
    print_table("Decisions of many keys of one limiter, 1 caller", header, rows)

    count = KEYS // 10 if bench.quick else KEYS
    rows = []
    for program in PROGRAMS:
        bench.say(f"keys, {program.name}, {count}")
        known = ask_for(program, count)
        grown = known.client_after_kib - known.client_before_kib
        rows.append(
            [
                program.name,
                f"{count:,}",
                f"{known.per_second:.0f}",
                f"{known.client_before_kib / 1024:.1f} MiB",
                f"{known.client_after_kib / 1024:.1f} MiB",
                f"{known.server_bytes_each:.0f}",
            ]
        )
        goals.append(at_most(f"{count:,} keys, {program.name}: client memory for each", 4, 1024 * grown / count, "bytes"))
    header = ["", "keys", "decisions/s", "client before", "client after", "server bytes each"]
    print_table("Many keys of one limiter, one decision of each", header, rows)
    return goals
