"""One asyncio process of the demo's queues: puts COUNT jobs into the queue of NEXT, and does those of the queue of OWN.

    python -m jobs.worker_aio URL NAME FOLDER WHO OWN NEXT COUNT

To do a job is to make the file FOLDER/ID, which cannot be made twice. Prints `ready`, starts on a line of input, then prints its
progress as JSON lines; stops when its input ends.
"""

from __future__ import annotations

import asyncio
import sys

import libdlock.aio

from jobs.work import CONCURRENCY, INSIDE, LEASE, Progress, job_ids, make


async def main(url: str, name: str, folder: str, who: str, own: str, following: str, count: str) -> None:
    """Works until the input ends."""
    progress = Progress()

    async def do(delivery: libdlock.aio.Delivery) -> None:
        await asyncio.sleep(INSIDE)
        progress.add(make(folder, delivery.id, who), delivery.attempt)

    async with libdlock.aio.connect(url) as client:
        others = client.queue(f"{name}-{following}")
        mine = client.queue(f"{name}-{own}", watchdog_lease=LEASE)
        print("ready", flush=True)
        sys.stdin.readline()
        with progress.reporting():
            async with mine.consume(do, concurrency=CONCURRENCY):
                await others.put_many([libdlock.NewJob(job, id=job) for job in job_ids(who, int(count))])
                await asyncio.to_thread(sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
