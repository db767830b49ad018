"""One asyncio process of the demo: tasks that TIMES times between them wait for the rate limiter, take the lock, and change the
shared file inside; and tasks beside them that share a few permits, and others that read and write under a read-write lock, one a
little while for every few turns.

    worker_aio.py URL NAME FILE TIMES WHO WORKER RATE BURST PERMITS [without-lock]

Prints `ready`, starts on a line of input, then prints its progress as JSON lines.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import sys
import time
from typing import NamedTuple

import libdlock.aio
from turns import INSIDE, SHARERS, VISITORS, Progress, change, now_us, rounds_of, visits_of, write_round, writes

TASKS = 2
REPORT_EVERY = 0.25  # seconds


class Shared(NamedTuple):
    """The locks, the limiter and the semaphore that all processes share, and the ids of this one."""

    lock: libdlock.aio.Lock
    limiter: libdlock.aio.RateLimiter
    semaphore: libdlock.aio.Semaphore
    rw_lock: libdlock.aio.RwLock
    ids: libdlock.Snowflake


class Worker:
    """What the tasks of this process share."""

    def __init__(self, shared: Shared, path: str, times: int, who: str, locked: bool) -> None:
        self.shared, self.path, self.who, self.locked = shared, path, who, locked
        self.times, self.turns = times, iter(range(times))
        self.invented = itertools.count(1)
        self.progress = Progress()

    async def run(self) -> None:
        """What each task does that takes the lock."""
        for _ in self.turns:
            granted = (await self.shared.limiter.acquire()).server_time
            asked = time.monotonic()
            async with self.shared.lock if self.locked else contextlib.nullcontext() as held:
                wait = time.monotonic() - asked
                token = held.token if held else next(self.invented)
                handed_over = change(self.path, f"{token} {granted} {self.shared.ids.next_id()} {self.who}")
            self.progress.add(wait, handed_over)

    async def share(self, permits: int) -> None:
        """What each task does that shares permits."""
        for _ in range(rounds_of(self.times)):
            async with await self.shared.semaphore.take(permits) if self.locked else contextlib.nullcontext():
                entered = now_us()
                await asyncio.sleep(INSIDE)
                write_round(f"{self.path}.rounds", entered, permits, self.who)
            self.progress.rounds += 1

    async def visit(self) -> None:
        """What each task does that reads and writes."""
        rw_lock = self.shared.rw_lock
        for visit in range(visits_of(self.times)):
            how, side = ("write", rw_lock.write) if writes(visit) else ("read", rw_lock.read)
            async with side if self.locked else contextlib.nullcontext():
                entered = now_us()
                await asyncio.sleep(INSIDE)
                write_round(f"{self.path}.visits", entered, how, self.who)
            self.progress.visits += 1

    async def report(self) -> None:
        """A line for the coordinator now and then."""
        while True:
            await asyncio.sleep(REPORT_EVERY)
            self.progress.report()


async def main(
    url: str, name: str, path: str, times: str, who: str, worker_id: str, rate: str, burst: str, permits: str, *flags: str
) -> None:
    """Runs the tasks until all turns are done."""
    async with libdlock.aio.connect(url) as client:
        limiter = client.rate_limiter(f"{name}-rate", rate=int(rate), per=1, burst=int(burst))
        semaphore = client.semaphore(f"{name}-permits", int(permits))
        ids = libdlock.Snowflake(0, int(worker_id))
        shared = Shared(client.lock(name), limiter, semaphore, client.rw_lock(f"{name}-sides"), ids)
        worker = Worker(shared, path, int(times), who, "without-lock" not in flags)
        print("ready", flush=True)
        sys.stdin.readline()
        reports = asyncio.create_task(worker.report())
        await asyncio.gather(
            *(worker.run() for _ in range(TASKS)),
            *(worker.share(1 + n) for n in range(SHARERS)),
            *(worker.visit() for _ in range(VISITORS)),
        )
        reports.cancel()
        worker.progress.report()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
