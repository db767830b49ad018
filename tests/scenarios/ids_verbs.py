"""The verbs of ids in Python. None of them waits."""

from __future__ import annotations

import dataclasses
import time
from typing import Any

import libdlock
from verbs import Values, Verbs


class IdsVerbs(Verbs):
    async def generator(
        self, generator: str, datacenter: str, worker: str, layout: Any = "default", begins_in_ms: str | None = None
    ) -> Values:
        given = libdlock.Layout.named(layout)
        if begins_in_ms is not None:
            given = dataclasses.replace(given, epoch_ms=time.time_ns() // 1_000_000 + int(begins_in_ms))
        self._things[generator] = libdlock.Snowflake(int(datacenter), int(worker), layout=given)
        return {}

    async def ids(self, generator: str, count: str) -> Values:
        ids = self._things[generator].next_ids(int(count))
        return {"first": ids[0], "last": ids[-1], "increasing": ids == sorted(set(ids))}

    async def decode(self, generator: str, id: str) -> Values:
        parts = self._things[generator].decode(int(id))
        return {"datacenter": parts.datacenter, "worker": parts.worker, "sequence": parts.sequence}

    async def encode(self, id: str, base: str) -> Values:
        return {"text": libdlock.Snowflake.encode(int(id), int(base))}

    async def parse(self, text: str, base: str) -> Values:
        return {"id": libdlock.Snowflake.parse(text, int(base))}
