"""One asyncio process of the demo: tasks that take the lock TIMES times between them, and change the shared file inside.

    worker_aio.py URL LOCK FILE TIMES WHO [without-lock]

Prints `ready`, starts on a line of input, then prints its progress as JSON lines.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import sys
import time

import libdlock.aio
from turns import Progress, change

TASKS = 2
REPORT_EVERY = 0.25  # seconds


class Worker:
    """What the tasks of this process share."""

    def __init__(self, lock: libdlock.aio.Lock, path: str, times: int, who: str, locked: bool) -> None:
        self.lock, self.path, self.who, self.locked = lock, path, who, locked
        self.turns = iter(range(times))
        self.invented = itertools.count(1)
        self.progress = Progress()

    async def run(self) -> None:
        """What each task does."""
        for _ in self.turns:
            asked = time.monotonic()
            async with self.lock if self.locked else contextlib.nullcontext() as held:
                wait = time.monotonic() - asked
                handed_over = change(self.path, held.token if held else next(self.invented), self.who)
            self.progress.add(wait, handed_over)

    async def report(self) -> None:
        """A line for the coordinator now and then."""
        while True:
            await asyncio.sleep(REPORT_EVERY)
            self.progress.report()


async def main(url: str, name: str, path: str, times: str, who: str, *flags: str) -> None:
    """Runs the tasks until all turns are done."""
    async with libdlock.aio.connect(url) as client:
        worker = Worker(client.lock(name), path, int(times), who, "without-lock" not in flags)
        print("ready", flush=True)
        sys.stdin.readline()
        reports = asyncio.create_task(worker.report())
        await asyncio.gather(*(worker.run() for _ in range(TASKS)))
        reports.cancel()
        worker.progress.report()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
