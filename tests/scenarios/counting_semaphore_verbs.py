"""The verbs of counting semaphores in Python."""

from __future__ import annotations

from beside import Beside
from verbs import Values, Verbs, done, seconds


class CountingSemaphoreVerbs(Verbs):
    async def counting(self, client: str, name: str, slots: str) -> Values:
        self._things[slots] = self._clients[client].counting_semaphore(name)
        return {}

    async def make_permits(self, slots: str, permits: str) -> Values:
        return {"made": await done(self._things[slots].try_set_permits(int(permits)))}

    async def take_permits(self, slots: str, permits: str = "1", wait_ms: str | None = None) -> Values:
        if wait_ms == "0":
            return {"taken": await done(self._things[slots].try_acquire(int(permits)))}
        return {"taken": await done(self._things[slots].acquire(int(permits), seconds(wait_ms)))}

    async def begin_take(self, slots: str, take: str, permits: str = "1", wait_ms: str | None = None) -> Values:
        self._things[take] = Beside(self._things[slots].acquire, int(permits), seconds(wait_ms))
        return {}

    async def end_take(self, take: str) -> Values:
        return {"taken": await self._things[take].end()}

    async def give(self, slots: str, permits: str | None = None) -> Values:
        release = self._things[slots].release
        await done(release() if permits is None else release(int(permits)))
        return {}

    async def add_permits(self, slots: str, permits: str) -> Values:
        await done(self._things[slots].add_permits(int(permits)))
        return {}

    async def drain(self, slots: str) -> Values:
        return {"drained": await done(self._things[slots].drain())}

    async def inspect_counting(self, slots: str) -> Values:
        seen = await done(self._things[slots].inspect())
        return {"exists": seen.exists, "available": seen.available, "queued": seen.queued}

    async def counted_takes(self, client: str) -> Values:
        counted = self._clients[client].stats().counting_semaphore
        return {
            "acquired": counted.acquired,
            "contended": counted.contended,
            "wait_timeouts": counted.wait_timeouts,
            "released": counted.released,
            "waiting": counted.waiting,
            "waits": counted.wait_time.count,
        }
