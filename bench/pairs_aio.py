"""Lock and unlock as fast as CALLERS tasks can, each with a lock of its own: the asyncio worker of bench/run.py.

pairs_aio.py URL CALLERS SECONDS
"""

from __future__ import annotations

import asyncio
import json
import sys
import time

import libdlock.aio


async def caller(lock: libdlock.aio.Lock, end: float) -> int:
    """Pairs until the time is over."""
    pairs = 0
    while time.monotonic() < end:
        async with lock:
            pairs += 1
    return pairs


async def main(url: str, callers: str, seconds: str) -> None:
    """Speaks the worker protocol."""
    async with await libdlock.aio.connect(url) as client:
        locks = [client.lock(f"bench-{i}") for i in range(int(callers))]
        # Connections and keys are warm before the clock starts.
        await asyncio.gather(*(caller(lock, time.monotonic() + 0.1) for lock in locks))
        print("ready", flush=True)
        sys.stdin.readline()
        begun = time.monotonic()
        pairs = await asyncio.gather(*(caller(lock, begun + float(seconds)) for lock in locks))
        print(json.dumps({"pairs": sum(pairs), "seconds": time.monotonic() - begun}), flush=True)
        sys.stdin.read()  # the driver reads our CPU time before it lets go


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
