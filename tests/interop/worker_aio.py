"""The asyncio process of the interop tests: does what the lines on its input say, see worker.py for the protocol."""

from __future__ import annotations

import asyncio
import functools
import sys
import time

import libdlock.aio


def now_us() -> int:
    return time.monotonic_ns() // 1000


async def requests() -> asyncio.StreamReader:
    """The lines on standard input, without blocking the event loop."""
    reader = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    return reader


async def crowd(lock: libdlock.aio.Lock, rounds: int, callers: int) -> None:
    holds: list[tuple[int, int, int, int]] = []

    async def contend() -> None:
        for _ in range(rounds):
            asked = now_us()
            async with lock as held:
                begin = now_us()
                holds.append((held.token, begin, now_us(), asked))

    await asyncio.gather(*(contend() for _ in range(callers)))
    for hold in holds:
        print("hold", *hold)
    print("done", flush=True)


async def tell(held: libdlock.aio.Held) -> None:
    assert await held.lost.wait()
    print("lost", int(held.remaining * 1e6), flush=True)


async def main() -> None:
    client = await libdlock.aio.connect(sys.argv[1])
    lock = functools.cache(client.lock)
    renewed: list[libdlock.aio.Lock] = []
    watching: list[asyncio.Task[None]] = []
    lines = await requests()
    print("ready", flush=True)
    async for line in lines:
        match line.decode().split():
            case ["acquire", name]:
                await lock(name).acquire()
                acquired = now_us()
                held = lock(name).held
                assert held is not None
                print("acquired", acquired, held.token, flush=True)
            case ["renew", name, lease_ms]:
                renewed.append(client.lock(name, watchdog_lease=int(lease_ms) / 1000))
                await renewed[-1].acquire()
                print("renewed", flush=True)
            case ["release", name]:
                called = now_us()
                await lock(name).release()
                print("released", called, flush=True)
            case ["contend", name, rounds]:
                for _ in range(int(rounds)):
                    async with lock(name) as held:
                        acquired = now_us()
                        print("hold", held.token, acquired, now_us())
                print("done", flush=True)
            case ["crowd", name, rounds, callers]:
                await crowd(lock(name), int(rounds), int(callers))
            case ["watch", name, count]:
                for number in range(int(count)):
                    await lock(f"{name}-{number}").acquire()
                    held = lock(f"{name}-{number}").held
                    assert held is not None
                    watching.append(asyncio.create_task(tell(held)))
                print("watching", flush=True)
            case ["spend", name]:
                decision = await client.rate_limiter(name, rate=10, per=3600).try_acquire()
                print("spent", int(decision.allowed), decision.remaining, flush=True)
            case _:
                raise ValueError(f"cannot read {line!r}")


if __name__ == "__main__":
    asyncio.run(main())
