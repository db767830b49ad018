"""A delayed queue at rest: what becomes due and who gets it, a great many jobs that wait, and takers for whom there is none."""

from __future__ import annotations

import statistics
import time

from driver.bench import Bench, Runs, run
from driver.goals import Goal, at_most
from driver.programs import BULLMQ, RUST, Program, floor
from driver.server import OTHERS, SCRIPTS, Server
from driver.tables import print_table
from driver.worker import Team, Worker

#: Jobs a second, and processes that wait for them.
DELIVERIES = ((25, 1), (100, 64))
#: A put, a take and an acknowledgement.
FLOOR = 3

FEW, MANY = 100, 1_000_000
#: Of BullMQ's so many, which take it long enough.
OF_PEER = 100_000

IDLE = 128


def deliveries(bench: Bench) -> list[Goal]:
    """From the due time to the delivery, by the clock of the machine, which the server has too."""
    rows, goals = [], []
    with Server() as server:
        round_trip = run(floor("sockets"), "pings", server, 1, bench.seconds(0.5)).each_us / 1e3
        for rate, processes in DELIVERIES:
            bench.say(f"deliveries, {processes} processes")
            server.clear()
            seconds = bench.seconds(10.0)
            ahead = 0.3 if bench.quick else 2.0
            takers = [RUST.start("due_takes", server, 1, ahead + seconds) for _ in range(processes)]
            with Team(takers) as team, Worker(RUST.start("due_puts", server, rate, seconds)) as puts:
                team.ready()
                puts.ready()
                team.go()
                time.sleep(ahead)  # all of them stand in line
                before = server.spent(SCRIPTS)
                puts.go()
                answers = team.answers()
                spent = server.spent(SCRIPTS) - before
                put = puts.answer()["done"]
            late = sorted(late for answer in answers for late in answer["late_us"])
            if not late:
                raise RuntimeError("nothing was delivered")
            p50, p99 = (late[int(len(late) * part)] / 1e3 for part in (0.5, 0.99))
            more = spent.requests / len(late) - FLOOR
            each = f"{more:.2f}"
            rows.append([f"{processes}", f"{rate}", f"{put}", f"{len(late)}", f"{p50:.2f} ms", f"{p99:.2f} ms", each])
            who = f"{processes} waiting process{'es' if processes > 1 else ''}"
            if processes == 1:
                bound = 5 + round_trip
                goals.append(at_most(f"due time to delivery, {who}: p99", bound, p99, "ms"))
            else:
                goals.append(at_most(f"scripts a delivery beyond the floor's three, {who}", 1.2, more))
    header = ["waiting processes", "jobs/s", "put", "delivered", "p50 late", "p99 late", "more scripts each"]
    print_table(f"Due time to delivery, round trip {round_trip:.2f} ms", header, rows)
    return goals


def memory(server: Server) -> int:
    """Bytes."""
    info = dict(line.split(":", 1) for line in server.command("INFO", "memory").splitlines() if ":" in line)
    return int(info["used_memory"])


def many_jobs(bench: Bench) -> list[Goal]:
    """Jobs that are due at once, put and taken where others wait for tomorrow; and what those weigh."""
    many = FEW * 10 if bench.quick else MANY
    runs, rows = Runs(), []
    with Server() as full, Server() as nearly_empty:
        weights = {}
        for server, count in ((nearly_empty, FEW), (full, many)):
            bench.say(f"{count} delayed jobs")
            before = memory(server)
            filled(server, RUST, count)
            weights[count] = (memory(server) - before) / count
        for number in range(bench.rounds(5)):
            for name, server in (("few", nearly_empty), ("many", full)):
                bench.say(f"a queue of {name}, round {number + 1}")
                found = run(floor("sockets"), "jobs", server, 1, bench.seconds(1.2), clears=False)
                runs.add(name, found)
    for name, count in (("few", FEW), ("many", many)):
        rows.append(
            [
                f"{count:,}",
                f"{runs.median(name, lambda found: found.per_second):.0f}",
                f"{runs.median(name, lambda found: found.requests_us):.1f} us",
                f"{weights[count]:.0f}" if count > FEW else "",
            ]
        )
    peer = many if bench.quick else OF_PEER
    with Server() as server:
        bench.say(f"{peer} delayed jobs of BullMQ")
        before = memory(server)
        filled(server, BULLMQ, peer)
        rows.append([f"{peer:,}, BullMQ", "", "", f"{(memory(server) - before) / peer:.0f}"])
    print_table("A queue of delayed jobs: three scripts beside them", ["jobs", "jobs/s", "in scripts", "bytes each"], rows)
    slower = statistics.median(a.requests_us / b.requests_us for a, b in zip(runs.of("many"), runs.of("few"), strict=True))
    return [
        at_most(f"put, take and acknowledgement, {many:,} delayed jobs beside {FEW}: time in the scripts", 1.5, slower, "x")
    ]


def filled(server: Server, program: Program, count: int) -> None:
    """Jobs for tomorrow."""
    with Worker(program.start("fill", server, count, 0)) as worker:
        worker.ready()
        worker.go()
        worker.answer()


def idle(bench: Bench) -> list[Goal]:
    """Processes that wait at an empty queue."""
    processes, seconds = (8, 2.0) if bench.quick else (IDLE, 30.0)
    bench.say(f"idle, {processes} processes")
    with Server() as server, Team([RUST.start("idle_takes", server, 1, 0) for _ in range(processes)]) as team:
        team.ready()
        team.go()
        team.answers()
        time.sleep(3)  # all of them have asked
        others = OTHERS - {"ping"}
        before, cpu, began = server.spent(SCRIPTS | others), team.cpu(), time.monotonic()
        time.sleep(seconds)
        spent, cpu, took = server.spent(SCRIPTS | others) - before, team.cpu() - cpu, time.monotonic() - began
    each = spent.requests / took / processes
    row = [
        f"{processes}",
        f"{each:.2f}",
        f"{60 * each:.1f}",
        f"{100 * cpu / took:.1f} %",
        f"{spent.cpu_us / took / 1e4:.1f} %",
    ]
    header = ["processes", "commands/s each", "commands/min each", "client CPU, all", "server CPU"]
    print_table("Processes that wait at an empty queue, without PINGs", header, [row])
    return [at_most(f"{processes} processes at an empty queue, commands each beside PING", 1, each, "/s")]


def measure(bench: Bench) -> list[Goal]:
    """Prints three tables."""
    return deliveries(bench) + many_jobs(bench) + idle(bench)
