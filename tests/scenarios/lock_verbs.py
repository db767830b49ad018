"""The verbs of locks in Python."""

from __future__ import annotations

from typing import Any

from verbs import Values, Verbs, done, ms, seconds


class LockVerbs(Verbs):
    def _kept(self, name: str, hold: Any) -> Values:
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
        return self._kept(hold, await done(lock.take(wait=seconds(wait_ms))))

    async def attach(self, client: str, name: str, hold: str, text: str) -> Values:
        return self._kept(hold, await done(self._clients[client].lock(name).attach(text)))

    async def inspect(self, client: str, name: str) -> Values:
        seen = await done(self._clients[client].lock(name).inspect())
        return {
            "held": seen.holder is not None,
            "holder": seen.holder,
            "ours": seen.ours,
            "ttl_ms": ms(seen.ttl),
            "token": seen.token,
            "queued": seen.queued,
        }

    async def force(self, client: str, name: str) -> Values:
        return {"was_held": await done(self._clients[client].lock(name).force_release())}
