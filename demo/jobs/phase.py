"""The demo's queues: the worker of each language puts jobs that the next language's does. Two more processes help, and are
killed in the middle with jobs in hand. In the end each job is done once.
"""

from __future__ import annotations

import signal
import time
from pathlib import Path
from typing import NamedTuple

import libdlock
from worker_process import WorkerProcess

from jobs.verdict import Left, Told, judge_jobs

KILLED = 2
STUCK_AFTER = 60.0  # seconds in which no job was done
SETTLED_WITHIN = 30.0  # seconds
ENOUGH_DONE = 0.25  # of all jobs: when so many are done, the helpers are killed


class Place(NamedTuple):
    """Where the workers meet."""

    url: str
    name: str
    folder: Path


def work(place: Place, commands: dict[str, list[str]], count: int) -> list[str]:
    """Runs a worker of each language and the two that are killed; says what it saw, and returns what went wrong."""
    languages = [*commands]
    following = dict(zip(languages, languages[1:] + languages[:1], strict=True))

    def start(who: str, language: str, jobs: int) -> WorkerProcess:
        given = [place.url, place.name, str(place.folder), who, language, following[language], str(jobs)]
        return WorkerProcess(who, [*commands[language], *given], dict.fromkeys(Told._fields, 0))

    workers = [start(language, language, count) for language in languages]
    helpers = [start(f"{language} (killed)", language, 0) for language in languages[-KILLED:]]
    try:
        for worker in workers + helpers:
            if not worker.has_started():
                return [f"the worker of {worker.who}'s queue did not start"]
        begun = time.monotonic()
        for worker in helpers + workers:
            worker.go()
        problems = _watch(place, helpers, count * len(languages))
        taken = time.monotonic() - begun
        left = _left(place, languages)
        problems += [f"{worker.who} ended with {code}" for worker in workers if (code := worker.stop()) != 0]
    finally:
        for worker in workers + helpers:
            worker.process.kill()
            worker.process.wait()
    told = {worker.who: Told(**{what: int(count) for what, count in worker.numbers.items()}) for worker in workers}
    done = {file.name: file.read_text() for file in place.folder.iterdir()}
    verdict = judge_jobs(done, told, left, following, count)
    print(f"\n  {len(done)} jobs in {taken:.1f} s ({len(done) / taken:.0f}/s); {KILLED} workers killed, ", end="")
    print(f"{verdict.repeated} jobs delivered again, {verdict.found_done} of them were done")
    return problems + verdict.problems


def _watch(place: Place, helpers: list[WorkerProcess], total: int) -> list[str]:
    """Kills the helpers in the middle, and returns when all jobs are done and acknowledged."""
    last, moved = 0, time.monotonic()
    while True:
        time.sleep(0.02)
        done = sum(1 for _ in place.folder.iterdir())
        if done >= total * ENOUGH_DONE:
            for helper in helpers:
                helper.process.send_signal(signal.SIGKILL)
        if done >= total:
            return []
        if done > last:
            last, moved = done, time.monotonic()
        elif time.monotonic() - moved > STUCK_AFTER:
            return [f"no job was done for {STUCK_AFTER:.0f} s"]


def _left(place: Place, languages: list[str]) -> dict[str, Left]:
    """What the queues have at the end. What killed workers had in hand comes again when its lease is over, done or not."""
    with libdlock.connect(place.url) as client:
        queues = {language: client.queue(f"{place.name}-{language}") for language in languages}
        given_up = time.monotonic() + SETTLED_WITHIN
        while True:
            counts = {language: queue.counts() for language, queue in queues.items()}
            left = {who: Left(seen.ready + seen.delayed + seen.in_flight, seen.dead) for who, seen in counts.items()}
            if time.monotonic() > given_up or not any(has.waiting for has in left.values()):
                return left
            time.sleep(0.05)
