"""The verbs of worker numbers in Python."""

from __future__ import annotations

from typing import Any

from verbs import Values, Verbs, done, seconds


class WorkerVerbs(Verbs):
    async def lease(
        self, client: str, pool: str, worker: str, bits: str | None = None, lease_ms: str | None = None
    ) -> Values:
        how: dict[str, Any] = {} if bits is None else {"bits": int(bits)}
        leased = await done(self._clients[client].worker(pool, **how, lease=seconds(lease_ms)))
        self._things[worker] = leased
        return {"number": leased.number, "valid": leased.valid}

    async def leased(self, worker: str) -> Values:
        return {"valid": self._things[worker].valid}

    async def generator_of(self, worker: str, generator: str, layout: Any = None) -> Values:
        self._things[generator] = self._things[worker].snowflake(layout)
        return {}

    async def counted_numbers(self, client: str) -> Values:
        counted = self._clients[client].stats().worker
        return {
            "acquired": counted.acquired,
            "refused": counted.refused,
            "lost": counted.lost,
            "released": counted.released,
            "held": counted.held,
            "waits": counted.wait_time.count,
            "holds": counted.hold_time.count,
        }

    async def give_back(self, worker: str) -> Values:
        await done(self._things[worker].release())
        return {}
