"""Two clients share three permits, under asyncio."""

import asyncio
import os

import libdlock.aio

url = os.environ.get("REDIS_URL", "redis://127.0.0.1:6379")


async def main() -> None:
    async with libdlock.aio.connect(url) as first, libdlock.aio.connect(url) as second:
        other = second.semaphore("example-semaphore", 3)
        # Those of a process that dies come back when its lease ends.
        async with await first.semaphore("example-semaphore", 3).take(2):
            print("the first client holds two of three permits")
            if not await other.acquire(blocking=False, permits=2):
                print("the second client finds no two available")

        async with await other.take(2, wait=5):
            print("the second client holds two")


asyncio.run(main())
