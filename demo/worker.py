"""One Python process of the demo: threads that TIMES times between them wait for the rate limiter, take the lock, and change the
shared file inside; and threads beside them that share a few permits, and others that read and write under a read-write lock, one
a little while for every few turns.

    worker.py URL NAME FILE TIMES WHO WORKER RATE BURST PERMITS [without-lock]

Prints `ready`, starts on a line of input, then prints its progress as JSON lines.
"""

from __future__ import annotations

import contextlib
import itertools
import sys
import threading
import time
from typing import NamedTuple

import libdlock
from turns import INSIDE, SHARERS, VISITORS, Progress, change, now_us, rounds_of, visits_of, write_round, writes

THREADS = 2
REPORT_EVERY = 0.25  # seconds


class Shared(NamedTuple):
    """The locks, the limiter and the semaphore that all processes share, and the ids of this one."""

    lock: libdlock.Lock
    limiter: libdlock.RateLimiter
    semaphore: libdlock.Semaphore
    rw_lock: libdlock.RwLock
    ids: libdlock.Snowflake


class Worker:
    """What the threads of this process share."""

    def __init__(self, shared: Shared, path: str, times: int, who: str, locked: bool) -> None:
        self.shared, self.path, self.who, self.locked = shared, path, who, locked
        self.times, self.turns = times, iter(range(times))
        self.turn_taking = threading.Lock()
        self.progress = Progress()
        self.errors: list[BaseException] = []

    def another_turn(self) -> bool:
        """Whether there is one left for the calling thread."""
        with self.turn_taking:
            return next(self.turns, None) is not None

    def run(self) -> None:
        """What each thread does that takes the lock."""
        invented = itertools.count(1)
        try:
            while self.another_turn():
                granted = self.shared.limiter.acquire().server_time
                asked = time.monotonic()
                with self.shared.lock if self.locked else contextlib.nullcontext() as held:
                    wait = time.monotonic() - asked
                    token = held.token if held else next(invented)
                    handed_over = change(self.path, f"{token} {granted} {self.shared.ids.next_id()} {self.who}")
                with self.turn_taking:
                    self.progress.add(wait, handed_over)
        except BaseException as error:
            self.errors.append(error)
            raise

    def share(self, permits: int) -> None:
        """What each thread does that shares permits."""
        try:
            for _ in range(rounds_of(self.times)):
                with self.shared.semaphore.take(permits) if self.locked else contextlib.nullcontext():
                    entered = now_us()
                    time.sleep(INSIDE)
                    write_round(f"{self.path}.rounds", entered, permits, self.who)
                with self.turn_taking:
                    self.progress.rounds += 1
        except BaseException as error:
            self.errors.append(error)
            raise

    def visit(self) -> None:
        """What each thread does that reads and writes."""
        rw_lock = self.shared.rw_lock
        try:
            for visit in range(visits_of(self.times)):
                how, side = ("write", rw_lock.write) if writes(visit) else ("read", rw_lock.read)
                with side if self.locked else contextlib.nullcontext():
                    entered = now_us()
                    time.sleep(INSIDE)
                    write_round(f"{self.path}.visits", entered, how, self.who)
                with self.turn_taking:
                    self.progress.visits += 1
        except BaseException as error:
            self.errors.append(error)
            raise

    def report(self) -> None:
        """One line for the coordinator."""
        with self.turn_taking:
            self.progress.report()


def main(
    url: str, name: str, path: str, times: str, who: str, worker_id: str, rate: str, burst: str, permits: str, *flags: str
) -> int:
    """Runs the threads until all turns are done."""
    with libdlock.connect(url) as client:
        limiter = client.rate_limiter(f"{name}-rate", rate=int(rate), per=1, burst=int(burst))
        semaphore = client.semaphore(f"{name}-permits", int(permits))
        ids = libdlock.Snowflake(0, int(worker_id))
        shared = Shared(client.lock(name), limiter, semaphore, client.rw_lock(f"{name}-sides"), ids)
        worker = Worker(shared, path, int(times), who, "without-lock" not in flags)
        print("ready", flush=True)
        sys.stdin.readline()
        threads = [threading.Thread(target=worker.run, daemon=True) for _ in range(THREADS)]
        threads += [threading.Thread(target=worker.share, args=(1 + n,), daemon=True) for n in range(SHARERS)]
        threads += [threading.Thread(target=worker.visit, daemon=True) for _ in range(VISITORS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            while thread.is_alive():
                thread.join(REPORT_EVERY)
                worker.report()
        worker.report()  # the last thread may have ended since
        return 1 if worker.errors else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
