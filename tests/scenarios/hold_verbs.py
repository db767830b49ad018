"""The verbs of holds, of whatever primitive, and what their clients have counted, in Python."""

from __future__ import annotations

from verbs import Values, Verbs, done, ms, seconds


class HoldVerbs(Verbs):
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

    async def counted(self, client: str, of: str = "lock") -> Values:
        block = getattr(self._clients[client].stats(), of)
        return {
            "acquired": block.acquired,
            "contended": block.contended,
            "handed_over": block.handed_over_local + block.handed_over_remote,
            "wait_timeouts": block.wait_timeouts,
            "lost": block.lost,
            "released": block.released,
            "waiting": block.waiting,
            "held": block.held,
            "waits": block.wait_time.count,
            "holds": block.hold_time.count,
        }
