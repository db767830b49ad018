"""What it costs to hold many locks, which are all renewed, and to wait for as many that others hold."""

from __future__ import annotations

import time
from dataclasses import dataclass

from driver.bench import Bench
from driver.goals import Goal, at_most
from driver.programs import REDISSON, RUST, Program
from driver.server import Server
from driver.tables import print_table
from driver.worker import Worker

#: Seconds: a third of the lease of 30 s, which all of them have unless they are told otherwise.
RENEWAL = 10.0
COUNTS = (10_000, 100_000)
WAITED = (3_000, 10_000, 100_000)


#: Locks that others hold without a word, as one script of the server's makes them.
QUIET = """for n = tonumber(ARGV[1]), tonumber(ARGV[2]) do
  redis.call('HSET', 'bench-' .. n, '11111111-2222-8333-8444-555555555555:1', '1')
  redis.call('PEXPIRE', 'bench-' .. n, 86400000)
end
return ARGV[2]"""


@dataclass(frozen=True)
class Holding:
    """What a process that holds and does nothing else costs."""

    taken_in: float  # seconds
    scripts: float  # in a renewal interval
    server_share: float  # of a core
    client_share: float  # of a core
    bytes_each: float  # in the client
    threads: int  # more than before the first one


def hold(program: Program, count: int, intervals: int) -> Holding:
    """Takes them, then looks for some renewal intervals."""
    with Server() as server, Worker(program.start("held", server, count, 0)) as worker:
        worker.ready()
        threads, kib = worker.status("Threads"), worker.status("VmRSS")
        worker.go()
        answer = worker.answer()
        assert answer["done"] == count
        kib = worker.status("VmRSS") - kib
        time.sleep(1)  # what followed the last acquire is over
        before, cpu, began = server.spent(program.requests), worker.cpu(), time.monotonic()
        time.sleep(intervals * RENEWAL)
        spent, cpu, took = server.spent(program.requests) - before, worker.cpu() - cpu, time.monotonic() - began
        more = worker.status("Threads") - threads
        present = int(server.command("DBSIZE"))
        assert present >= count, f"of {count} locks {present} are left"
    share = RENEWAL / took
    return Holding(
        answer["seconds"], spent.requests * share, spent.cpu_us * 1e-6 / took, cpu / took, 1024 * kib / count, more
    )


def wait(program: Program, count: int, seconds: float) -> Holding:
    """Waits for them, all held by others, then looks on for a while."""
    with Server() as server, Worker(program.start("waited", server, count, 0)) as worker:
        for first in range(0, count, 1000):
            server.command("EVAL", QUIET, "0", str(first), str(first + 999))
        worker.ready()
        threads, kib = worker.status("Threads"), worker.status("VmRSS")
        worker.go()
        answer = worker.answer()
        assert answer["done"] == count
        kib = worker.status("VmRSS") - kib
        time.sleep(3)  # the first looks of all are over
        before, cpu, began = server.spent(program.requests), worker.cpu(), time.monotonic()
        time.sleep(seconds)
        spent, cpu, took = server.spent(program.requests) - before, worker.cpu() - cpu, time.monotonic() - began
        more = worker.status("Threads") - threads
        present = int(server.command("DBSIZE"))
        assert present >= 3 * count, f"of {count} locks some have no queue: {present} keys"
    return Holding(
        answer["seconds"], spent.requests / took, spent.cpu_us * 1e-6 / took, cpu / took, 1024 * kib / count, more
    )


def measure_waits(bench: Bench) -> list[Goal]:
    """One client that waits, as the head of every queue: the case with the most looks."""
    rows, goals = [], []
    for count in WAITED:
        if bench.quick and count == WAITED[-1]:
            continue
        bench.say(f"waited for, {RUST.name}, {count}")
        found = wait(RUST, count, 3 if bench.quick else 10)
        rows.append(
            [
                RUST.name,
                f"{count:,}",
                f"{found.scripts:.0f}",
                f"{100 * found.server_share:.1f} %",
                f"{100 * found.client_share:.1f} %",
                f"{found.bytes_each:.0f}",
                str(found.threads),
            ]
        )
        if count == WAITED[-1]:
            where = f"{count:,} locks that others hold, waited for"
            goals = [
                at_most(f"{where}: scripts", 300, found.scripts, "/s"),
                at_most(f"{where}: server CPU, of a core", 50, 100 * found.server_share, "%"),
                at_most(f"{where}: each in the client", 4096, found.bytes_each, "bytes"),
            ]
    header = ["", "locks", "scripts/s", "server CPU", "client CPU", "bytes each", "threads more"]
    print_table("Locks that others hold, with one client that waits for them all", header, rows)
    return goals


def measure(bench: Bench) -> list[Goal]:
    """Redisson holds the smaller number."""
    rows, goals = [], []
    for program, count in [*((RUST, count) for count in COUNTS), (REDISSON, COUNTS[0])]:
        if bench.quick and count > COUNTS[0]:
            continue
        bench.say(f"held, {program.name}, {count}")
        found = hold(program, count, 1 if bench.quick else 2)
        rows.append(
            [
                program.name,
                f"{count:,}",
                f"{found.taken_in:.2f} s",
                f"{found.scripts:.0f}",
                f"{100 * found.server_share:.1f} %",
                f"{100 * found.client_share:.1f} %",
                f"{found.bytes_each:.0f}",
                str(found.threads),
            ]
        )
        if program is RUST and count == COUNTS[-1]:
            where = f"{count:,} held locks"
            goals = [
                at_most(f"{where}: threads more", 0, found.threads),
                at_most(f"{where}: scripts in a renewal interval", 1000, found.scripts),
                at_most(f"{where}: server CPU, of a core", 4, 100 * found.server_share, "%"),
                at_most(f"{where}: each in the client", 1024, found.bytes_each, "bytes"),
            ]
    header = ["", "locks", "taken in", "scripts in 10 s", "server CPU", "client CPU", "bytes each", "threads more"]
    print_table("Locks that are held and renewed, leases of 30 s", header, rows)
    return goals + measure_waits(bench)
