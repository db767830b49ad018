"""The asyncio worker of bench/run.py: does something as often as CALLERS tasks can in SECONDS.

worker_aio.py pairs|decisions URL CALLERS SECONDS
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import Awaitable, Callable

import libdlock.aio

#: Does what is measured until a point of time.monotonic(); says how often.
Work = Callable[[float], Awaitable[int]]


def pairs(client: libdlock.aio.Client, caller: int) -> Work:
    """Lock and unlock, a lock for each caller."""
    lock = client.lock(f"bench-{caller}")

    async def work(end: float) -> int:
        done = 0
        while time.monotonic() < end:
            async with lock:
                done += 1
        return done

    return work


def decisions(client: libdlock.aio.Client, caller: int) -> Work:
    """Decisions of one rate limiter, so wide that nobody is refused."""
    limiter = client.rate_limiter("bench", rate=1_000_000, per=1)

    async def work(end: float) -> int:
        done = 0
        while time.monotonic() < end:
            assert (await limiter.try_acquire()).allowed
            done += 1
        return done

    return work


WORK = {"pairs": pairs, "decisions": decisions}


async def main(what: str, url: str, callers: str, seconds: str) -> None:
    """Speaks the worker protocol."""
    async with libdlock.aio.connect(url) as client:
        work = [WORK[what](client, i) for i in range(int(callers))]
        # Connections and keys are warm before the clock starts.
        await asyncio.gather(*(each(time.monotonic() + 0.1) for each in work))
        print("ready", flush=True)
        sys.stdin.readline()
        begun = time.monotonic()
        done = await asyncio.gather(*(each(begun + float(seconds)) for each in work))
        print(json.dumps({"done": sum(done), "seconds": time.monotonic() - begun}), flush=True)
        sys.stdin.read()  # the driver reads our CPU time before it lets go


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
