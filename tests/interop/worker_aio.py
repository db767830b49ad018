"""The asyncio process of the interop tests: does what the lines on its input say, see worker.py for the protocol."""

from __future__ import annotations

import asyncio
import functools
import sys
import time
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from typing import TypeVar

import libdlock.aio

H = TypeVar("H")


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


async def turns(
    rounds: int, wants: str, take: Callable[[str], Awaitable[AbstractAsyncContextManager[H]]], of: Callable[[H], object]
) -> None:
    """Has a caller for each word of `wants`, with commas; says of all their turns what `of` makes of the holds, too."""
    said: list[tuple[object, ...]] = []

    async def caller(want: str) -> None:
        for _ in range(rounds):
            asked = now_us()
            async with await take(want) as held:
                begin = now_us()
                await asyncio.sleep(0.001)
                said.append((want, begin, now_us(), asked, of(held)))

    await asyncio.gather(*map(caller, wants.split(",")))
    for turn in said:
        print("turn", *turn)
    print("done", flush=True)


async def permits_of(semaphore: libdlock.aio.Semaphore, count: str) -> libdlock.aio.OwnedHold:
    return await semaphore.take(int(count))


async def take_side(lock: libdlock.aio.RwLock, side: str) -> libdlock.aio.OwnedRwHold:
    return await (lock.write if side == "write" else lock.read).take()


async def tell(held: libdlock.aio.Held) -> None:
    assert await held.lost.wait()
    print("lost", int(held.remaining * 1e6), flush=True)


def made(generator: libdlock.Snowflake, count: int) -> str:
    try:
        return ",".join(map(str, generator.next_ids(count)))
    except (libdlock.LockLost, libdlock.NotHeld):
        return "none"


async def main() -> None:
    client = await libdlock.aio.connect(sys.argv[1])
    lock = functools.cache(client.lock)
    renewed: list[libdlock.aio.Lock] = []
    permits: dict[str, libdlock.aio.OwnedHold] = {}
    sides: dict[str, libdlock.aio.OwnedRwHold] = {}
    numbers: dict[str, libdlock.aio.Worker] = {}
    generators: dict[str, libdlock.Snowflake] = {}
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
            case ["permits", name, total, count]:
                permits[name] = await client.semaphore(name, int(total)).take(int(count))
                print("permits", now_us(), ",".join(permits[name].permits), flush=True)
            case ["give", name]:
                called = now_us()
                await permits.pop(name).release()
                print("gave", called, flush=True)
            case ["share", name, total, rounds, wants]:
                semaphore = client.semaphore(name, int(total))
                await turns(int(rounds), wants, functools.partial(permits_of, semaphore), lambda _: "")
            case ["side", name, side]:
                sides[name] = await take_side(client.rw_lock(name), side)
                print("side", now_us(), sides[name].token, flush=True)
            case ["downgrade", name]:
                called = now_us()
                sides[name] = await sides[name].downgrade()
                print("downgraded", called, sides[name].token, flush=True)
            case ["leave", name]:
                called = now_us()
                await sides.pop(name).release()
                print("left", called, flush=True)
            case ["mix", name, rounds, wants]:
                rw = client.rw_lock(name)
                await turns(int(rounds), wants, functools.partial(take_side, rw), lambda held: held.token)
            case ["number", pool]:
                numbers[pool] = await client.worker(pool, 4)
                generators[pool] = numbers[pool].snowflake()
                print("number", numbers[pool].number, flush=True)
            case ["ids", pool, count]:
                print("ids", made(generators[pool], int(count)), flush=True)
            case ["back", pool]:
                await numbers.pop(pool).release()
                print("back", flush=True)
            case ["spend", name]:
                decision = await client.rate_limiter(name, rate=10, per=3600).try_acquire()
                print("spent", int(decision.allowed), decision.remaining, flush=True)
            case _:
                raise ValueError(f"cannot read {line!r}")


if __name__ == "__main__":
    asyncio.run(main())
