"""Two processes lease worker numbers of one pool and make ids under them, under asyncio."""

import asyncio
import os

import libdlock.aio

url = os.environ.get("REDIS_URL", "redis://127.0.0.1:6379")


async def main() -> None:
    async with libdlock.aio.connect(url) as one, libdlock.aio.connect(url) as two:
        first, second = await one.worker("example-worker"), await two.worker("example-worker")
        print(f"leased {first.number} and {second.number}")

        ids = first.snowflake()
        last = ids.next_ids(1000)[-1]
        await first.release()
        try:
            ids.next_id()
        except libdlock.NotHeld:
            print("no ids without a number")

        async with await one.worker("example-worker") as again:
            print(f"leased {again.number} again")
            if again.snowflake().next_id() > last:
                print("its ids go on behind the last")
        await second.release()


asyncio.run(main())
