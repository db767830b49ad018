"""The peer of the asyncio worker: redis-py's Lock in tasks. redis_py_asyncio.py WHAT URL CALLERS SECONDS"""

from __future__ import annotations

import asyncio
import sys

import redis.asyncio
import tasks

#: Seconds. It is not renewed.
LEASE = 30


async def main(what: str, url: str, callers: str, seconds: str) -> None:
    """Speaks the worker protocol."""
    client = redis.asyncio.Redis.from_url(url)
    await tasks.run(what, lambda name: client.lock(name, timeout=LEASE), int(callers), float(seconds))
    await client.aclose()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
