"""Two clients transfer between the same accounts, under asyncio."""

import asyncio
import os

import libdlock.aio

url = os.environ.get("REDIS_URL", "redis://127.0.0.1:6379")
SEVEN, FORTY_TWO = "example-account/7", "example-account/42"


async def main() -> None:
    async with libdlock.aio.connect(url) as one, libdlock.aio.connect(url) as two:
        first = one.lock_all([SEVEN, FORTY_TWO])
        second = two.lock_all([FORTY_TWO, SEVEN, SEVEN], wait=5)

        async with first as held:
            if held.tokens[SEVEN] > 0 and held.tokens[FORTY_TWO] > 0:
                print("both accounts are held, each with a token of its own")

            if not await second.acquire(blocking=False):
                print("a second client finds them busy, and takes neither")

        async with second as held:
            print("it has both as soon as they are released")

            if len(held.tokens) == 2:
                print("a name that is given twice counts once")


asyncio.run(main())
