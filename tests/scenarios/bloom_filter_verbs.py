"""The verbs of Bloom filters in Python."""

from __future__ import annotations

from verbs import Values, Verbs, done


def digits(answers: list[bool]) -> str:
    return "".join(str(int(answer)) for answer in answers)


class BloomFilterVerbs(Verbs):
    async def bloom_filter(
        self, client: str, name: str, seen: str, expected: str, rate: str, ttl_ms: str | None = None
    ) -> Values:
        ttl = None if ttl_ms is None else int(ttl_ms) / 1_000
        self._things[seen] = self._clients[client].bloom_filter(
            name, expected=int(expected), false_positive_rate=float(rate), ttl=ttl
        )
        return {}

    async def bloom_sizes(self, seen: str) -> Values:
        return {"size": self._things[seen].size, "hashes": self._things[seen].hashes}

    async def bloom_add(self, seen: str, items: str) -> Values:
        return {"new": digits(await done(self._things[seen].add(items.split(","))))}

    async def bloom_contains(self, seen: str, items: str) -> Values:
        return {"found": digits(await done(self._things[seen].contains(items.split(","))))}

    async def bloom_count(self, seen: str) -> Values:
        rate = await done(self._things[seen].false_positive_rate())
        return {"count": await done(self._things[seen].count()), "rate": "low" if rate < 0.001 else "high"}

    async def bloom_clear(self, seen: str) -> Values:
        return {"cleared": await done(self._things[seen].clear())}

    async def bloom_gone(self, seen: str, item: str) -> Values:
        for _ in range(10_000):
            if await done(self._things[seen].contains([item])) == [False]:
                return {"gone": True}
        return {"gone": False}
