"""The verbs of locks and their holds in Python."""

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

    async def release(self, hold: str) -> Values:
        await done(self._things[hold].release())
        return {}

    async def extend(self, hold: str, lease_ms: str) -> Values:
        await done(self._things[hold].extend(seconds(lease_ms)))
        return {}

    async def detach(self, hold: str) -> Values:
        return {"text": await done(self._things[hold].detach())}

    async def see(self, hold: str) -> Values:
        held = self._things[hold]
        return {"valid": held.valid, "remaining_ms": ms(held.remaining), "lost": held.lost.reason}

    async def wait_lost(self, hold: str, wait_ms: str) -> Values:
        lost = self._things[hold].lost
        await done(lost.wait(seconds(wait_ms)))
        return {"lost": lost.reason}

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

    async def counted(self, client: str) -> Values:
        lock = self._clients[client].stats().lock
        return {
            "acquired": lock.acquired,
            "contended": lock.contended,
            "handed_over": lock.handed_over_local + lock.handed_over_remote,
            "wait_timeouts": lock.wait_timeouts,
            "lost": lock.lost,
            "released": lock.released,
            "waiting": lock.waiting,
            "held": lock.held,
            "waits": lock.wait_time.count,
            "holds": lock.hold_time.count,
        }

    async def force(self, client: str, name: str) -> Values:
        return {"was_held": await done(self._clients[client].lock(name).force_release())}
