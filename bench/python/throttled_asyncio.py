"""The peer of the asyncio worker for decisions: throttled-py. throttled_asyncio.py decisions URL CALLERS SECONDS"""

from __future__ import annotations

import asyncio
import sys
import time

import tasks
from throttled.asyncio import RateLimiterType, Throttled, per_sec, store  # type: ignore[import-not-found]


async def main(url: str, callers: str, seconds: str) -> None:
    """Speaks the worker protocol."""
    # The algorithm that is the default of ours; as many tokens too, so that nobody is refused.
    limiter = Throttled(
        using=RateLimiterType.GCRA.value,
        quota=per_sec(1_000_000, burst=1_000_000),
        store=store.RedisStore(server=url),
    )

    async def work(end: float) -> int:
        done = 0
        while time.monotonic() < end:
            assert not (await limiter.limit("bench")).limited
            done += 1
        return done

    await tasks.loops([work] * int(callers), float(seconds))


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[2:]))
