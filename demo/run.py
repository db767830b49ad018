#!/usr/bin/env python3
"""The demo: processes in five languages take one lock in turn and change one file that nothing else protects. One rate limiter
lets them through, and each stamps its changes with ids of its own. Beside that they share the permits of one semaphore, and read
and write under one read-write lock. Then each puts jobs into a queue of another's, and two that help are killed.

    run.py [--times N] [--url URL] [--without-lock] --worker LANGUAGE=COMMAND ... --jobs-worker LANGUAGE=COMMAND ...

Without a URL it starts a redis-server of its own. Shows a line a worker while they run, then checks what they did and says so;
exits with 1 when the check fails. `--without-lock` shows that the check can fail.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import shlex
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "scripts"))

from jobs.phase import Place, work  # noqa: E402
from private_redis import PrivateRedis  # noqa: E402
from turns import SHARERS, VISITORS, rounds_of, visits_of  # noqa: E402
from verdict import Expected, Limit, judge, judge_rounds, judge_visits  # noqa: E402
from worker_process import WorkerProcess  # noqa: E402

SHOW_EVERY = 1.0  # seconds
LIMIT = Limit(rate=1000, burst=100)
PERMITS = 4  # each worker has a caller for one and another for two
TURNS_A_JOB = 5  # each worker puts a job for so many turns
STUCK_AFTER = 60.0  # seconds in which no worker got anything


class Worker(WorkerProcess):
    """A worker of the turns."""

    def __init__(self, who: str, command: list[str]) -> None:
        counts = ("done", "handovers", "waited", "longest", "rounds", "visits")
        super().__init__(who, command, dict.fromkeys(counts, 0.0))

    def line(self, times: int) -> str:
        """What it has done so far, in one line."""
        n = self.numbers
        seconds = max((self.ended or time.monotonic()) - self.begun, 0.001)
        mean = 1000 * n["waited"] / max(n["done"], 1)
        return (
            f"  {self.who:<10} {n['done']:>6.0f} of {times}   hand-overs {n['handovers']:>6.0f}   "
            f"wait {mean:7.2f} ms, longest {1000 * n['longest']:8.2f} ms   {n['done'] / seconds:7.0f}/s"
        )


@contextlib.contextmanager
def started(commands: dict[str, list[str]]) -> Iterator[list[Worker]]:
    """The workers, running; none is left over at the end."""
    workers: list[Worker] = []
    try:
        for who, command in commands.items():
            workers.append(Worker(who, command))
        yield workers
    finally:
        for worker in workers:
            worker.process.terminate()
        for worker in workers:
            try:
                worker.process.wait(5)
            except subprocess.TimeoutExpired:
                worker.process.kill()
                worker.process.wait()


def watch(workers: list[Worker], times: int) -> list[str]:
    """Shows progress until every worker has ended; returns what went wrong."""
    in_place = sys.stdout.isatty()
    done, moved = 0.0, time.monotonic()
    next_show = moved + SHOW_EVERY
    shown = False
    while True:
        running = [worker for worker in workers if worker.process.poll() is None]
        now = time.monotonic()
        if running and now < next_show:
            with contextlib.suppress(subprocess.TimeoutExpired):
                running[0].process.wait(next_show - now)
            continue
        if shown and in_place:
            print(f"\x1b[{len(workers)}A", end="")
        elif shown:
            print()
        for worker in workers:
            print(worker.line(times), flush=True)
        shown, next_show = True, now + SHOW_EVERY
        if not running:
            return [f"{w.who} ended with {w.process.returncode}" for w in workers if w.process.returncode != 0]
        total = sum(sum(worker.numbers[what] for what in ("done", "rounds", "visits")) for worker in workers)
        if total > done:
            done, moved = total, now
        elif now - moved > STUCK_AFTER:
            return [f"nobody got a lock or permits for {STUCK_AFTER:.0f} s"]


def run(options: argparse.Namespace, url: str, folder: str) -> int:
    """Runs the workers on `url` and judges the file they leave in `folder`."""
    shared = Path(folder, "shared.txt")
    shared.write_text(f"{0:012}\n")
    rounds, visits = Path(f"{shared}.rounds"), Path(f"{shared}.visits")
    rounds.touch()
    visits.touch()
    name = f"demo-{os.getpid()}-{time.time_ns()}"
    numbers = [str(LIMIT.rate), str(LIMIT.burst), str(PERMITS)]
    commands, expected = {}, {}
    for number, worker in enumerate(options.worker, start=1):
        who, _, program = worker.partition("=")
        commands[who] = [*shlex.split(program), url, name, str(shared), str(options.times), who, str(number), *numbers]
        expected[who] = Expected(
            options.times, number, rounds_of(options.times) * SHARERS, visits_of(options.times) * VISITORS
        )
        if options.without_lock:
            commands[who].append("without-lock")

    with started(commands) as workers:
        for worker in workers:
            if not worker.has_started():
                print(f"{worker.who} did not start")
                return 1
        begun = time.monotonic()
        for worker in workers:
            worker.go()
        problems = watch(workers, options.times)
        taken = time.monotonic() - begun
    verdict = judge(shared.read_text(), expected, LIMIT)
    inside = judge_rounds(rounds.read_text(), expected, PERMITS)
    visitors = judge_visits(visits.read_text(), expected)
    problems += verdict.problems + inside.problems + visitors.problems
    rate = verdict.lines / taken
    print(f"\n  {verdict.lines} changes in {taken:.1f} s ({rate:.0f}/s); the counter says {verdict.counter}")
    if verdict.turns:
        most, least = max(verdict.turns.values()), min(verdict.turns.values())
        print(f"  while all contended, turns of each {least} to {most}: a ratio of {most / max(least, 1):.2f}")
    print(f"  {inside.count} rounds under the semaphore; at most {inside.most} of {PERMITS} permits in use at once")
    print(f"  {visitors.count} visits under the read-write lock; at most {visitors.most} readers at once")
    if not options.without_lock:
        problems += run_jobs(options, url, folder, f"{name}-jobs")
    for problem in problems:
        print(f"  WRONG: {problem}")
    if problems:
        print("verdict: FAILED")
        return 1
    print(
        "verdict: the total is exact, fencing tokens strictly increase in the order of the file; the limiter let no more "
        f"through than {LIMIT.rate}/s and a burst of {LIMIT.burst}; all ids differ, and each worker's grow; never were more than "
        f"{PERMITS} permits in use; a writer was always alone, and readers were together; each job was done once, by another "
        "language than had put it, those that killed workers had in hand as well"
        + ("; all get turns evenly" if verdict.turns else "")
    )
    return 0


def run_jobs(options: argparse.Namespace, url: str, folder: str, name: str) -> list[str]:
    """Runs the queues' workers; what went wrong."""
    done = Path(folder, "jobs")
    done.mkdir()
    commands = {who: shlex.split(program) for who, _, program in (one.partition("=") for one in options.jobs_worker)}
    return work(Place(url, name, done), commands, max(options.times // TURNS_A_JOB, 1))


def main() -> int:
    """Reads the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--times", type=int, default=2000, help="how often each worker takes the lock (2000)")
    parser.add_argument("--url", default="", help="a server that is there; else a private one is started")
    parser.add_argument("--without-lock", action="store_true", help="take no lock: the check must fail")
    parser.add_argument("--worker", action="append", required=True, metavar="LANGUAGE=COMMAND", help="a process to run")
    parser.add_argument(
        "--jobs-worker", action="append", required=True, metavar="LANGUAGE=COMMAND", help="a process for the queues"
    )
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        with contextlib.ExitStack() as stack:
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="libdlock-demo-"))
            if options.url:
                url = options.url
                print("server: the one of REDIS_URL")
            else:
                server = stack.enter_context(PrivateRedis())
                url = server.url
                print(f"server: a private redis-server on port {server.port}")
            return run(options, url, folder)
    except KeyboardInterrupt:
        print("\ninterrupted; workers and server are stopped")
        return 130


if __name__ == "__main__":
    sys.exit(main())
