"""The asyncio worker of bench/run.py: libdlock_asyncio.py WHAT URL CALLERS SECONDS; see bench/README.md."""

from __future__ import annotations

import asyncio
import sys
import time

import libdlock.aio
import tasks
from protocol import answer, ready

#: So many of what is quick between two looks at the clock, in every language.
BATCH = 1000

#: So many jobs in a batch, and what is in each, in every language.
JOBS = 100
PAYLOAD = b"x" * 100

#: Seconds between two acquires of `lost`, so that the leases end one after the other.
APART = 0.005


def decisions(client: libdlock.aio.Client) -> tasks.Work:
    """Decisions of one rate limiter, so wide that nobody is refused."""
    limiter = client.rate_limiter("bench", rate=1_000_000, per=1)

    async def work(end: float) -> int:
        done = 0
        while time.monotonic() < end:
            assert (await limiter.try_acquire()).allowed
            done += 1
        return done

    return work


def prefetched(client: libdlock.aio.Client) -> tasks.Work:
    """Of one that hardly ever asks the server."""
    limiter = client.rate_limiter("bench", rate=1_000_000_000, per=1, prefetch=0.5)

    async def work(end: float) -> int:
        done = 0
        while time.monotonic() < end:
            for _ in range(BATCH):
                assert (await limiter.try_acquire()).allowed
            done += BATCH
        return done

    return work


def jobs(client: libdlock.aio.Client) -> tasks.Work:
    """A job is put, one is taken, and ended."""
    queue = client.queue("bench")

    async def work(end: float) -> int:
        done = 0
        while time.monotonic() < end:
            await queue.put(PAYLOAD)
            await (await queue.take()).ack()
            done += 1
        return done

    return work


def job_batches(client: libdlock.aio.Client) -> tasks.Work:
    """The same of a batch."""
    queue = client.queue("bench")

    async def work(end: float) -> int:
        done = 0
        while time.monotonic() < end:
            await queue.put_many([PAYLOAD] * JOBS)
            done += sum(await queue.ack_many(await queue.take_many(JOBS)))
        return done

    return work


async def lost(client: libdlock.aio.Client, callers: int) -> None:
    """Holds so many locks; from the start on the server does not answer. Tells how long before each lease's end its signal
    came."""
    holds = []
    for number in range(callers):
        holds.append(await client.lock(f"bench-{number}").__aenter__())
        await asyncio.sleep(APART)
    ready()

    async def margin(held: libdlock.aio.Held) -> float:
        ends = time.monotonic() + held.remaining
        assert await held.lost.wait()
        return 1e3 * (ends - time.monotonic())

    answer({"margins_ms": await asyncio.gather(*(margin(held) for held in holds))})


async def main(what: str, url: str, count: str, length: str) -> None:
    """Speaks the worker protocol."""
    callers, seconds = int(count), float(length)
    async with libdlock.aio.connect(url) as client:
        works = {"decisions": decisions, "prefetched": prefetched, "jobs": jobs, "job_batches": job_batches}
        if what in works:
            await tasks.loops([works[what](client) for _ in range(callers)], seconds)
        elif what == "lost":
            await lost(client, callers)
        else:
            await tasks.run(what, client.lock, callers, seconds)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
