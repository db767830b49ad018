"""The runner of scenarios for asyncio: see README.md and runner.py."""

from __future__ import annotations

import asyncio
import sys

import libdlock.aio
from runner import Runner
from verbs import answer


async def main() -> None:
    runner = Runner(sys.argv[1], libdlock.aio.connect)
    print("ready", flush=True)
    # A step is over before the next one is read: nothing has to go on meanwhile but the background of a client.
    while line := await asyncio.to_thread(sys.stdin.readline):
        print(await answer(runner, line), flush=True)


if __name__ == "__main__":
    asyncio.run(main())
