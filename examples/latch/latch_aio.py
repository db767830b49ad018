"""A start that waits until two workers are ready, under asyncio."""

import asyncio
import os

import libdlock.aio

url = os.environ.get("REDIS_URL", "redis://127.0.0.1:6379")


async def main() -> None:
    async with libdlock.aio.connect(url) as starter, libdlock.aio.connect(url) as worker:
        ready = starter.latch("example-latch")
        await ready.try_set_count(2)

        left = await worker.latch("example-latch").count_down()
        print(f"the first worker is ready, {left} is left")
        if not await ready.wait(timeout=0.1):
            print("not everybody is ready")

        second = asyncio.create_task(worker.latch("example-latch").count_down())
        await ready.wait()
        print("everybody is ready")
        await second


asyncio.run(main())
