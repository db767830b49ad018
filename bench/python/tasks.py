"""Callers in asyncio tasks: what they do with locks that are asynchronous context managers, whoever made them."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any

from protocol import answer, ready
from window import Window, told

#: A lock of that name; every caller has an object of its own.
Open = Callable[[str], AbstractAsyncContextManager[Any]]
#: Does what is measured until a point of time.monotonic(); says how often.
Work = Callable[[float], Awaitable[int]]

#: So many seconds a hold lasts in `handover`, in which the other process is waiting for sure.
HOLD = 0.002


def pairs(lock: AbstractAsyncContextManager[Any]) -> Work:
    """Lock and unlock."""

    async def work(end: float) -> int:
        done = 0
        while time.monotonic() < end:
            async with lock:
                done += 1
        return done

    return work


async def loops(works: Sequence[Work], seconds: float) -> None:
    """Every caller at its own work."""
    # Connections and keys are warm before the clock starts.
    await asyncio.gather(*(work(time.monotonic() + 0.1) for work in works))
    ready()
    begun = time.monotonic()
    done = await asyncio.gather(*(work(begun + seconds) for work in works))
    answer({"done": sum(done), "seconds": time.monotonic() - begun})


async def contended(open_lock: Open, callers: int, seconds: float) -> None:
    """All callers take `bench` and let go of it at once, again and again."""
    async with open_lock(f"warm-{os.getpid()}"):
        pass

    async def caller(lock: AbstractAsyncContextManager[Any], window: Window) -> Window:
        while window.goes_on(asked := time.monotonic()):
            async with lock:
                window.granted(asked)
        return window

    locks = [open_lock("bench") for _ in range(callers)]
    ready()
    begun = time.monotonic()
    answer(told(await asyncio.gather(*(caller(lock, Window(begun, seconds)) for lock in locks)), seconds))


async def handover(open_lock: Open, seconds: float) -> None:
    """Takes `bench`, holds it, lets go; tells when it had it and when it called release, on the clock of the machine."""
    async with open_lock(f"warm-{os.getpid()}"):
        pass
    lock = open_lock("bench")
    ready()
    end = time.monotonic() + seconds
    turns = []
    while time.monotonic() < end:
        async with lock:
            taken = time.monotonic_ns()
            await asyncio.sleep(HOLD)
            released = time.monotonic_ns()
        turns.append((taken, released))
    answer({"turns": turns})


async def run(what: str, open_lock: Open, callers: int, seconds: float) -> None:
    """What can be done with any lock."""
    if what == "pairs":
        await loops([pairs(open_lock(f"bench-{number}")) for number in range(callers)], seconds)
    elif what == "contended":
        await contended(open_lock, callers, seconds)
    elif what == "handover":
        await handover(open_lock, seconds)
    else:
        raise ValueError(f"there is no {what!r}")
