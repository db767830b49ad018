"""The verbs of latches in Python."""

from __future__ import annotations

from beside import Beside
from verbs import Values, Verbs, done, seconds


class LatchVerbs(Verbs):
    async def latch(self, client: str, name: str, latch: str) -> Values:
        self._things[latch] = self._clients[client].latch(name)
        return {}

    async def set_count(self, latch: str, count: str) -> Values:
        return {"set": await done(self._things[latch].try_set_count(int(count)))}

    async def count_down(self, latch: str, by: str | None = None) -> Values:
        down = self._things[latch].count_down
        return {"left": await done(down() if by is None else down(int(by)))}

    async def count(self, latch: str) -> Values:
        return {"count": await done(self._things[latch].count())}

    async def wait(self, latch: str, wait_ms: str | None = None) -> Values:
        return {"opened": await done(self._things[latch].wait(seconds(wait_ms)))}

    async def begin_wait(self, latch: str, wait: str, wait_ms: str | None = None) -> Values:
        self._things[wait] = Beside(self._things[latch].wait, seconds(wait_ms))
        return {}

    async def end_wait(self, wait: str) -> Values:
        return {"opened": await self._things[wait].end()}

    async def remove_latch(self, latch: str) -> Values:
        return {"removed": await done(self._things[latch].delete())}

    async def counted_latches(self, client: str) -> Values:
        counted = self._clients[client].stats().latch
        return {
            "counted_down": counted.counted_down,
            "opened": counted.opened,
            "wait_timeouts": counted.wait_timeouts,
            "waiting": counted.waiting,
            "waits": counted.wait_time.count,
        }
