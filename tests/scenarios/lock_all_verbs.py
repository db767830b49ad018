"""The verbs of several locks as one in Python."""

from __future__ import annotations

from verbs import Values, Verbs, done, seconds


class LockAllVerbs(Verbs):
    async def lock_all(
        self,
        client: str,
        of: str,
        names: str,
        lease_ms: str | None = None,
        watchdog_lease_ms: str | None = None,
        reentrant: str | None = None,
    ) -> Values:
        several = self._clients[client].lock_all(
            [name for name in names.split(",") if name],
            lease=seconds(lease_ms),
            watchdog_lease=seconds(watchdog_lease_ms),
            reentrant=None if reentrant is None else reentrant == "true",
        )
        self._things[of] = several
        self._things[f"client of {of}"] = self._clients[client]
        return {"count": len(several.names)}

    async def take_all(self, of: str, hold: str, wait_ms: str | None = None, lease_ms: str | None = None) -> Values:
        several = self._things[of]
        if lease_ms is not None:  # a lease is said when they are opened
            client = self._things[f"client of {of}"]
            several = client.lock_all(several.names, lease=seconds(lease_ms))
        held = await done(several.take(wait=seconds(wait_ms)))
        self._things[hold] = held
        return {"count": len(held.tokens)}

    async def token_of(self, hold: str, name: str) -> Values:
        return {"token": self._things[hold].tokens[name]}

    async def lost_of(self, hold: str) -> Values:
        held = self._things[hold]
        return {"name": held.lost_name, "lost": held.lost.reason}

    async def enter_all(self, of: str, wait_ms: str | None = None) -> Values:
        wait = seconds(wait_ms)
        several = self._things[of]
        got = several.acquire(timeout=wait) if wait else several.acquire(blocking=wait is None)
        assert await done(got), "they were not to be had"
        return {}

    async def leave_all(self, of: str) -> Values:
        await done(self._things[of].release())
        return {}

    async def entered_all(self, of: str) -> Values:
        return {"count": self._things[of].hold_count}
