"""The peer of the asyncio worker for decisions: limits on redis-py. limits_asyncio.py decisions URL CALLERS SECONDS"""

from __future__ import annotations

import asyncio
import sys
import time

import tasks
from limits import RateLimitItemPerSecond  # type: ignore[import-not-found]
from limits.aio.storage import RedisStorage  # type: ignore[import-not-found]
from limits.aio.strategies import FixedWindowRateLimiter  # type: ignore[import-not-found]

#: As ours: so many a second that nobody is refused.
PLENTY = RateLimitItemPerSecond(1_000_000)


async def main(url: str, callers: str, seconds: str) -> None:
    """Speaks the worker protocol."""
    # The strategy with the shortest script, which is a counter for each window.
    limiter = FixedWindowRateLimiter(RedisStorage(f"async+{url}", implementation="redispy"))

    async def work(end: float) -> int:
        done = 0
        while time.monotonic() < end:
            assert await limiter.hit(PLENTY, "bench")
            done += 1
        return done

    await tasks.loops([work] * int(callers), float(seconds))


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[2:]))
