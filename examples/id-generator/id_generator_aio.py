"""Ids of orders and their lines, from two clients that take a block each, under asyncio."""

import asyncio
import os

import libdlock.aio

url = os.environ.get("REDIS_URL", "redis://127.0.0.1:6379")


async def main() -> None:
    async with libdlock.aio.connect(url) as shop, libdlock.aio.connect(url) as other:
        ids = shop.id_generator("example-orders", block=100)
        print(f"order {await ids.next_id()}")
        first, second, third = await ids.next_ids(3)
        print(f"lines {first}, {second} and {third}")

        others = other.id_generator("example-orders")
        print(f"another process has {await others.next_id()}")
        print(f"blocks of {others.block_size}")


asyncio.run(main())
