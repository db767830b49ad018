"""What it costs to wait: 128 callers of one process, for a lock that another process holds."""

from __future__ import annotations

import time

from driver.bench import Bench
from driver.goals import Goal, at_most
from driver.programs import REDIS_PY, REDISSON, RSLOCK, RUST, SEMAPHORE, Program
from driver.server import OTHERS, Server
from driver.tables import print_table
from driver.worker import Worker

WAITERS = 128


def wait(program: Program, holder: Program, seconds: float) -> tuple[float, float]:
    """Commands a second, and of a core what the waiting process takes. The holder's own commands are among them: it renews
    once in 10 s and looks after its connections once in 5 s."""
    with Server() as server, Worker(holder.start("hold", server, 1, 0)) as holding:
        holding.ready()
        with Worker(program.start("idle", server, WAITERS, 0)) as waiting:
            waiting.ready()
            waiting.go()
            waiting.answer()
            time.sleep(2)  # all of them have asked once
            counted = program.requests | OTHERS
            before, cpu, began = server.spent(counted), waiting.cpu(), time.monotonic()
            time.sleep(seconds)
            spent, cpu, took = server.spent(counted) - before, waiting.cpu() - cpu, time.monotonic() - began
        holding.go()
    return spent.requests / took, cpu / took


def measure(bench: Bench) -> list[Goal]:
    """Each program's locks have a layout of its own: Redisson's are held by ours, the others' by themselves."""
    rows, goals = [], []
    for program, holder in (
        (RUST, RUST),
        (REDISSON, RUST),
        (REDIS_PY, REDIS_PY),
        (SEMAPHORE, SEMAPHORE),
        (RSLOCK, RSLOCK),
    ):
        bench.say(f"idle, {program.name}")
        commands, share = wait(program, holder, 2.0 if bench.quick else 8.0)
        rows.append([program.name, f"{commands:.1f}", f"{100 * share:.1f} %"])
        if program is RUST:
            goals.append(at_most(f"{WAITERS} idle waiters of one held lock in one process: commands", 2, commands, "/s"))
    print_table(f"{WAITERS} callers of one process wait for one held lock", ["", "commands/s", "client CPU"], rows)
    return goals
