"""The peer of the Python worker for decisions: throttled-py, in threads. throttled_threads.py decisions URL CALLERS SECONDS"""

from __future__ import annotations

import sys
import time

import threads
from throttled import RateLimiterType, Throttled, per_sec, store  # type: ignore[import-not-found]


def main(url: str, callers: str, seconds: str) -> None:
    """Speaks the worker protocol."""
    # The algorithm that is the default of ours; as many tokens too, so that nobody is refused.
    limiter = Throttled(
        using=RateLimiterType.GCRA.value,
        quota=per_sec(1_000_000, burst=1_000_000),
        store=store.RedisStore(server=url),
    )

    def work(end: float) -> int:
        done = 0
        while time.monotonic() < end:
            assert not limiter.limit("bench").limited
            done += 1
        return done

    threads.loops([work] * int(callers), float(seconds))


if __name__ == "__main__":
    main(*sys.argv[2:])
