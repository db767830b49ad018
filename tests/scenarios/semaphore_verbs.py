"""The verbs of semaphores in Python."""

from __future__ import annotations

from verbs import Values, Verbs, done, seconds


class SemaphoreVerbs(Verbs):
    async def semaphore(
        self,
        client: str,
        name: str,
        semaphore: str,
        permits: str,
        lease_ms: str | None = None,
        watchdog_lease_ms: str | None = None,
    ) -> Values:
        self._things[semaphore] = self._clients[client].semaphore(
            name, int(permits), lease=seconds(lease_ms), watchdog_lease=seconds(watchdog_lease_ms)
        )
        return {}

    async def acquire(
        self,
        semaphore: str,
        hold: str,
        permits: str = "1",
        wait_ms: str | None = None,
        lease_ms: str | None = None,
    ) -> Values:
        pool = self._things[semaphore]
        held = await done(pool.take(int(permits), wait=seconds(wait_ms), lease=seconds(lease_ms)))
        self._things[hold] = held
        return {"permits": len(held.permits), "ids": ",".join(held.permits)}

    async def set_permits(self, semaphore: str, permits: str) -> Values:
        await done(self._things[semaphore].set_permits(int(permits)))
        return {}

    async def inspect_permits(self, semaphore: str) -> Values:
        seen = await done(self._things[semaphore].inspect())
        return {"permits": seen.permits, "available": seen.available, "queued": seen.queued}
