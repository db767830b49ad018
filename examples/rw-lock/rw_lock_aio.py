"""Two clients share a read-write lock, under asyncio."""

import asyncio
import os

import libdlock.aio

url = os.environ.get("REDIS_URL", "redis://127.0.0.1:6379")


async def main() -> None:
    async with libdlock.aio.connect(url) as one, libdlock.aio.connect(url) as two:
        first, second = one.rw_lock("example-rw-lock"), two.rw_lock("example-rw-lock")

        async with first.read, await second.read.take() as reads:
            print("both clients read at the same time")
            await reads.release()
            if not await second.write.acquire(blocking=False):
                print("the second client cannot write while the first reads")

        async with second.write as writes:
            print("the second client writes alone")

            # From now on others may read too, and nobody has written in between.
            await writes.downgrade()
            async with await first.read.take():
                print("it goes on as a reader, and the first client reads again")


asyncio.run(main())
