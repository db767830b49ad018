"""Names that are taken: only for those that the filter may contain, a data base would be asked, under asyncio."""

import asyncio
import os

import libdlock
import libdlock.aio

url = os.environ.get("REDIS_URL", "redis://127.0.0.1:6379")


async def main() -> None:
    async with libdlock.aio.connect(url) as client:
        taken = client.bloom_filter("example-names", expected=1_000, false_positive_rate=0.01)
        await taken.clear()
        print(f"{taken.size} bits, {taken.hashes} of them for each name")
        print("new:", *(str(new).lower() for new in await taken.add(["ada", "grace", "ada"])))
        print("taken:", *(str(found).lower() for found in await taken.contains(["grace", "linus"])))
        print(f"about {await taken.count()} names")

        other = client.bloom_filter("example-names", expected=2_000, false_positive_rate=0.01)
        try:
            await other.contains(["ada"])
        except libdlock.WrongType:
            print("another size is refused")


asyncio.run(main())
