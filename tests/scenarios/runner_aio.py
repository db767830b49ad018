"""The runner of scenarios for asyncio: see README.md and runner.py."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable
from typing import Any

import libdlock
import libdlock.aio
from runner import Values, decided, failed, ms, read, seconds, told, with_options


class Runner:
    """The objects of one scenario, by their names in it. A method is a verb."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._clients: dict[str, libdlock.aio.Client] = {}
        self._things: dict[str, Any] = {}

    async def forget(self) -> Values:
        """The scenario is over."""
        for client in self._clients.values():
            await client.close()
        self._clients.clear()
        self._things.clear()
        return {}

    async def open(self, client: str, **options: str) -> Values:
        self._clients[client] = await libdlock.aio.connect(with_options(self._url, options))
        return {}

    async def close(self, client: str, release: str = "false") -> Values:
        await self._clients[client].close(release=release == "true")
        return {}

    def _kept(self, name: str, hold: libdlock.aio.Held | libdlock.aio.OwnedHold) -> Values:
        self._things[name] = hold
        return {"token": hold.token, "owner": hold.owner}

    async def take(
        self,
        client: str,
        name: str,
        hold: str,
        wait_ms: str | None = None,
        lease_ms: str | None = None,
        watchdog_lease_ms: str | None = None,
    ) -> Values:
        lock = self._clients[client].lock(name, lease=seconds(lease_ms), watchdog_lease=seconds(watchdog_lease_ms))
        return self._kept(hold, await lock.take(wait=seconds(wait_ms)))

    async def attach(self, client: str, name: str, hold: str, text: str) -> Values:
        return self._kept(hold, await self._clients[client].lock(name).attach(text))

    async def release(self, hold: str) -> Values:
        await self._things[hold].release()
        return {}

    async def extend(self, hold: str, lease_ms: str) -> Values:
        await self._things[hold].extend(seconds(lease_ms))
        return {}

    async def detach(self, hold: str) -> Values:
        return {"text": await self._things[hold].detach()}

    async def see(self, hold: str) -> Values:
        held = self._things[hold]
        return {"valid": held.valid, "remaining_ms": ms(held.remaining), "lost": held.lost.reason}

    async def wait_lost(self, hold: str, wait_ms: str) -> Values:
        lost = self._things[hold].lost
        await lost.wait(seconds(wait_ms))
        return {"lost": lost.reason}

    async def inspect(self, client: str, name: str) -> Values:
        seen = await self._clients[client].lock(name).inspect()
        return {
            "held": seen.holder is not None,
            "ours": seen.ours,
            "ttl_ms": ms(seen.ttl),
            "token": seen.token,
            "queued": seen.queued,
        }

    async def force(self, client: str, name: str) -> Values:
        return {"was_held": await self._clients[client].lock(name).force_release()}

    async def limiter(
        self,
        client: str,
        name: str,
        limiter: str,
        tokens: str,
        per_us: str,
        burst: str | None = None,
        absent: Any = "fail",
        share_of: str | None = None,
    ) -> Values:
        self._things[limiter] = self._clients[client].rate_limiter(
            name,
            rate=int(tokens),
            per=int(per_us) / 1_000_000,
            burst=None if burst is None else int(burst),
            absent=absent,
            share_of=None if share_of is None else int(share_of),
        )
        return {}

    async def spend(self, limiter: str, cost: str, wait_ms: str = "0") -> Values:
        return decided(await self._things[limiter].acquire(int(cost), wait=seconds(wait_ms)))

    async def peek(self, limiter: str) -> Values:
        return decided(await self._things[limiter].peek())

    async def reset(self, limiter: str) -> Values:
        await self._things[limiter].reset()
        return {}

    async def generator(self, generator: str, datacenter: str, worker: str, layout: Any = "default") -> Values:
        self._things[generator] = libdlock.Snowflake(int(datacenter), int(worker), layout=libdlock.Layout.named(layout))
        return {}

    async def ids(self, generator: str, count: str) -> Values:
        ids = self._things[generator].next_ids(int(count))
        return {"first": ids[0], "last": ids[-1], "increasing": ids == sorted(set(ids))}

    async def decode(self, generator: str, id: str) -> Values:
        parts = self._things[generator].decode(int(id))
        return {"datacenter": parts.datacenter, "worker": parts.worker, "sequence": parts.sequence}

    async def encode(self, id: str, base: str) -> Values:
        return {"text": libdlock.Snowflake.encode(int(id), int(base))}

    async def parse(self, text: str, base: str) -> Values:
        return {"id": libdlock.Snowflake.parse(text, int(base))}


async def main() -> None:
    runner = Runner(sys.argv[1])
    print("ready", flush=True)
    # A step is over before the next one is read: nothing has to go on meanwhile but the background of a client.
    while line := await asyncio.to_thread(sys.stdin.readline):
        verb, objects, options = read(line)
        do: Callable[..., Awaitable[Values]] = getattr(runner, verb)
        try:
            print(told(await do(*objects, **options)), flush=True)
        except libdlock.DlockError as error:
            print(failed(error), flush=True)


if __name__ == "__main__":
    asyncio.run(main())
