"""Two clients, of which one takes permits and the other brings them back, under asyncio."""

import asyncio
import os

import libdlock.aio

url = os.environ.get("REDIS_URL", "redis://127.0.0.1:6379")


async def main() -> None:
    async with libdlock.aio.connect(url) as first, libdlock.aio.connect(url) as second:
        slots = first.counting_semaphore("example-counting-semaphore")
        await slots.drain()
        await slots.add_permits(2)
        await slots.acquire(2)
        print("the first client has taken both permits")

        same = second.counting_semaphore("example-counting-semaphore")
        if not await same.try_acquire():
            print("the second client finds none available")

        # By whomever: a permit has no owner.
        await same.release(2)
        print(f"the second client has brought {(await slots.inspect()).available} back")


asyncio.run(main())
