"""The verbs of read-write locks in Python."""

from __future__ import annotations

from typing import Any

from verbs import Values, Verbs, done, ms, seconds


class RwLockVerbs(Verbs):
    async def rw_lock(
        self,
        client: str,
        name: str,
        lock: str,
        lease_ms: str | None = None,
        watchdog_lease_ms: str | None = None,
        reentrant: str | None = None,
        shared_age_ms: str | None = None,
    ) -> Values:
        self._things[lock] = self._clients[client].rw_lock(
            name,
            lease=seconds(lease_ms),
            watchdog_lease=seconds(watchdog_lease_ms),
            reentrant=None if reentrant is None else reentrant == "true",
            shared_age=seconds(shared_age_ms),
        )
        return {}

    async def read(self, lock: str, hold: str, wait_ms: str | None = None) -> Values:
        return self._held(hold, await done(self._things[lock].read.take(wait=seconds(wait_ms))))

    async def write(self, lock: str, hold: str, wait_ms: str | None = None) -> Values:
        return self._held(hold, await done(self._things[lock].write.take(wait=seconds(wait_ms))))

    async def downgrade(self, hold: str, reads: str) -> Values:
        return self._held(reads, await done(self._things[hold].downgrade()))

    async def enter(self, lock: str, side: str, wait_ms: str | None = None) -> Values:
        wait = seconds(wait_ms)
        of = self._side(lock, side)
        got = of.acquire(timeout=wait) if wait else of.acquire(blocking=wait is None)
        assert await done(got), "it was not to be had"
        return {"token": of.held.token}

    async def leave(self, lock: str, side: str) -> Values:
        await done(self._side(lock, side).release())
        return {}

    async def entered(self, lock: str, side: str) -> Values:
        return {"count": self._side(lock, side).hold_count}

    async def step_down(self, lock: str) -> Values:
        return {"token": (await done(self._things[lock].write.downgrade())).token}

    async def inspect_rw(self, lock: str) -> Values:
        seen = await done(self._things[lock].inspect())
        return {
            "writer": seen.writer,
            "ours": seen.ours,
            "readers": seen.readers,
            "ttl_ms": ms(seen.ttl),
            "token": seen.token,
            "queued": seen.queued,
        }

    async def force_rw(self, lock: str) -> Values:
        return {"was_held": await done(self._things[lock].force_release())}

    def _side(self, lock: str, side: str) -> Any:
        return getattr(self._things[lock], side)

    def _held(self, name: str, hold: Any) -> Values:
        self._things[name] = hold
        return {"token": hold.token, "owner": hold.owner}
