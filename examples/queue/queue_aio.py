"""A job for later, one that fails and comes again, and a dead one, under asyncio."""

import asyncio
import os

import libdlock.aio

url = os.environ.get("REDIS_URL", "redis://127.0.0.1:6379")


async def main() -> None:
    async with libdlock.aio.connect(url) as client:
        mails = client.queue("example-queue", max_attempts=2)

        await mails.put("to: ada", id="ada-1", delay=0.1)
        again = await mails.put("to: ada", id="ada-1")
        print("put a second time:", str(again.is_new).lower())
        print("due at once:", str(await mails.try_take() is not None).lower())

        first = await mails.take()
        print(f"{first.payload.decode()}, attempt {first.attempt}")
        await first.nack(delay=0.05, reason="no route")

        second = await mails.take()
        print(f"{second.payload.decode()}, attempt {second.attempt}")
        await second.nack(reason="still no route")

        (dead,) = await mails.dead.list()
        print(f"dead after {dead.attempts} attempts: {dead.reason}")

        await mails.dead.requeue("ada-1")
        async with await mails.take():
            pass  # at its end the job is acknowledged
        print("left:", (await mails.counts()).ready)


asyncio.run(main())
