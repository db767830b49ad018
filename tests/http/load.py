#!/usr/bin/env python3
"""A load generator: keep-alive connections that each send the next request as soon as they have an answer.

    tests/http/load.py http://127.0.0.1:8000/limited [--seconds 2] [--connections 64]

Prints what `Load` has as JSON. Standard library only.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from urllib.parse import urlsplit

#: How long after the end an answer may still be awaited: longer than the longest bound of a decision.
GRACE = 15.0
#: From when on an interval without an answer counts as one in which the machine did something else.
STALL = 0.2
#: How many answers of each status are kept as samples.
SAMPLES = 3


@dataclass
class Load:
    """What came back."""

    #: How many answers there were of each status.
    statuses: Counter[int] = field(default_factory=Counter)
    #: The fields of the first answers of each status, names in lower case.
    samples: dict[int, list[dict[str, str]]] = field(default_factory=dict)
    #: When the last answer was complete; at first when the first request was sent.
    last: float = field(default_factory=time.monotonic)
    #: How many connections were opened.
    connected: int = 0
    #: From when the first request was sent to when the last answer was complete.
    seconds: float = 0.0
    #: How much of that was in intervals of more than `STALL` without an answer.
    stalled: float = 0.0
    #: What ended a connection before its answer was complete.
    errors: list[str] = field(default_factory=list)

    def add(self, status: int, now: float) -> None:
        """Counts an answer that is complete now."""
        self.statuses[status] += 1
        if now - self.last > STALL:
            self.stalled += now - self.last
        self.last = now

    @property
    def answers(self) -> int:
        return sum(self.statuses.values())


class _Connection:
    """One connection, opened again where the server ends it after an answer, as HTTP allows it to."""

    def __init__(self, host: str, port: int, request: bytes, load: Load) -> None:
        self._host = host
        self._port = port
        self._request = request
        self._load = load
        self._writer: asyncio.StreamWriter | None = None

    async def run(self, until: float) -> None:
        """Sends requests until then."""
        try:
            while time.monotonic() < until:
                if self._writer is None:
                    self._reader, self._writer = await asyncio.open_connection(self._host, self._port)
                    self._load.connected += 1
                self._writer.write(self._request)
                if not await self._answer():
                    self.close()
        except (OSError, asyncio.IncompleteReadError, ValueError) as error:
            self._load.errors.append(f"{type(error).__name__}: {error}")
        self.close()

    async def _answer(self) -> bool:
        """Reads one answer; whether the connection stays."""
        head = (await self._reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        status = int(head[0].split(" ", 2)[1])
        fields = combined((line.partition(":")[0], line.partition(":")[2]) for line in head[1:] if line)
        if "chunked" in fields.get("transfer-encoding", ""):
            while size := int((await self._reader.readuntil(b"\r\n")).split(b";")[0], 16):
                await self._reader.readexactly(size + 2)
            await self._reader.readuntil(b"\r\n")
        else:
            await self._reader.readexactly(int(fields.get("content-length", "0")))
        self._load.add(status, time.monotonic())
        kept = self._load.samples.setdefault(status, [])
        if len(kept) < SAMPLES:
            kept.append(fields)
        return "close" not in fields.get("connection", "").lower()

    def close(self) -> None:
        if self._writer is not None:
            self._writer.close()
            self._writer = None


def combined(lines: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Fields by their names in lower case; several lines of one name are one list, as HTTP has it."""
    found: dict[str, str] = {}
    for name, value in lines:
        key = name.strip().lower()
        found[key] = f"{found[key]}, {value.strip()}" if key in found else value.strip()
    return found


async def _generate(url: str, seconds: float, connections: int) -> Load:
    parts = urlsplit(url)
    host, port = parts.hostname or "127.0.0.1", parts.port or 80
    target = parts.path + (f"?{parts.query}" if parts.query else "")
    request = f"GET {target} HTTP/1.1\r\nHost: {host}:{port}\r\n\r\n".encode()
    load = Load()
    started = load.last
    each = [_Connection(host, port, request, load) for _ in range(connections)]
    runs = asyncio.gather(*(connection.run(started + seconds) for connection in each))
    await asyncio.wait_for(runs, seconds + GRACE)
    load.seconds = load.last - started
    return load


def generate(url: str, seconds: float, connections: int = 64) -> Load:
    """Asks for `url` on so many connections for so long, and no longer than `GRACE` beyond."""
    return asyncio.run(_generate(url, seconds, connections))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("url")
    parser.add_argument("--seconds", type=float, default=2)
    parser.add_argument("--connections", type=int, default=64)
    given = parser.parse_args()
    print(json.dumps(asdict(generate(given.url, given.seconds, given.connections)), indent=1))


if __name__ == "__main__":
    main()
