"""The verbs of id generators in Python."""

from __future__ import annotations

from verbs import Values, Verbs, done


class IdGeneratorVerbs(Verbs):
    async def id_generator(self, client: str, name: str, ids: str, **options: str) -> Values:
        given = {option: int(value) for option, value in options.items()}
        self._things[ids] = self._clients[client].id_generator(name, **given)
        return {}

    async def next_id(self, ids: str) -> Values:
        return {"id": await done(self._things[ids].next_id())}

    async def next_ids(self, ids: str, count: str) -> Values:
        made = await done(self._things[ids].next_ids(int(count)))
        assert made == sorted(set(made))
        return {"first": made[0], "last": made[-1], "count": len(made)}

    async def block_size(self, ids: str) -> Values:
        return {"size": self._things[ids].block_size}
