"""The peer of the Python worker for decisions: limits on redis-py, in threads. limits_threads.py decisions URL CALLERS SECONDS"""

from __future__ import annotations

import sys
import time

import threads
from limits import RateLimitItemPerSecond  # type: ignore[import-not-found]
from limits.storage import RedisStorage  # type: ignore[import-not-found]
from limits.strategies import FixedWindowRateLimiter  # type: ignore[import-not-found]

#: As ours: so many a second that nobody is refused.
PLENTY = RateLimitItemPerSecond(1_000_000)


def main(url: str, callers: str, seconds: str) -> None:
    """Speaks the worker protocol."""
    # The strategy with the shortest script, which is a counter for each window.
    limiter = FixedWindowRateLimiter(RedisStorage(url))

    def work(end: float) -> int:
        done = 0
        while time.monotonic() < end:
            assert limiter.hit(PLENTY, "bench")
            done += 1
        return done

    threads.loops([work] * int(callers), float(seconds))


if __name__ == "__main__":
    main(*sys.argv[2:])
