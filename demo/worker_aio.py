"""One asyncio process of the demo: tasks that TIMES times between them wait for the rate limiter, take the lock, and change the
shared file inside.

    worker_aio.py URL NAME FILE TIMES WHO WORKER RATE BURST [without-lock]

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
from turns import Progress, change

TASKS = 2
REPORT_EVERY = 0.25  # seconds


class Shared(NamedTuple):
    """The lock and the limiter that all processes share, and the ids of this one."""

    lock: libdlock.aio.Lock
    limiter: libdlock.aio.RateLimiter
    ids: libdlock.Snowflake


class Worker:
    """What the tasks of this process share."""

    def __init__(self, shared: Shared, path: str, times: int, who: str, locked: bool) -> None:
        self.shared, self.path, self.who, self.locked = shared, path, who, locked
        self.turns = iter(range(times))
        self.invented = itertools.count(1)
        self.progress = Progress()

    async def run(self) -> None:
        """What each task does."""
        for _ in self.turns:
            granted = (await self.shared.limiter.acquire()).server_time
            asked = time.monotonic()
            async with self.shared.lock if self.locked else contextlib.nullcontext() as held:
                wait = time.monotonic() - asked
                token = held.token if held else next(self.invented)
                handed_over = change(self.path, f"{token} {granted} {self.shared.ids.next_id()} {self.who}")
            self.progress.add(wait, handed_over)

    async def report(self) -> None:
        """A line for the coordinator now and then."""
        while True:
            await asyncio.sleep(REPORT_EVERY)
            self.progress.report()


async def main(
    url: str, name: str, path: str, times: str, who: str, worker_id: str, rate: str, burst: str, *flags: str
) -> None:
    """Runs the tasks until all turns are done."""
    async with libdlock.aio.connect(url) as client:
        limiter = client.rate_limiter(f"{name}-rate", rate=int(rate), per=1, burst=int(burst))
        shared = Shared(client.lock(name), limiter, libdlock.Snowflake(0, int(worker_id)))
        worker = Worker(shared, path, int(times), who, "without-lock" not in flags)
        print("ready", flush=True)
        sys.stdin.readline()
        reports = asyncio.create_task(worker.report())
        await asyncio.gather(*(worker.run() for _ in range(TASKS)))
        reports.cancel()
        worker.progress.report()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
