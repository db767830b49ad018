"""Two clients take turns on one lock, under asyncio."""

import asyncio
import os

import libdlock.aio

url = os.environ.get("REDIS_URL", "redis://127.0.0.1:6379")


async def main() -> None:
    async with libdlock.aio.connect(url) as first, libdlock.aio.connect(url) as second:
        async with first.lock("example-lock", wait=5) as held:
            print("the first client holds the lock")
            # Send the token with every write: the resource refuses one that is lower than the highest it has seen.
            token = held.token
            if not await second.lock("example-lock").acquire(blocking=False):
                print("the second client finds it busy")

        async with second.lock("example-lock", wait=5) as held:
            if held.token > token:
                print("the second client holds it, with a larger token")


asyncio.run(main())
