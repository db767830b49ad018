"""Rate limiters of ours beside those of Redisson: a process of ours that speaks the lines of `worker/`."""

from __future__ import annotations

from typing import NamedTuple

import crates
from helpers import SOON, Worker
from redisson import Refused
from wire import Wire


class Decision(NamedTuple):
    """What our limiter answers. Times in us; the last of Unix time."""

    allowed: bool
    granted: int
    remaining: int
    retry_after: int | None
    reset_after: int
    limit: int
    server_time: int


class Limits:
    """A client of ours in a process of its own."""

    def __init__(self, program: str, url: str) -> None:
        self._worker = Worker([program, url])

    def limiter(self, name: str, rate: int, period_ms: int, kind: str = "OVERALL") -> Limiter:
        return Limiter(self._worker, name, rate, period_ms, kind)

    def warnings(self) -> int:
        """How often it has warned."""
        _, warnings = self._worker.ask("told")
        return int(warnings)

    def kill(self) -> None:
        self._worker.kill()


class Limiter:
    """A limiter of that client."""

    def __init__(self, worker: Worker, name: str, rate: int, period_ms: int, kind: str) -> None:
        self._worker = worker
        self._place = f"{name} {rate} {period_ms} {int(kind == 'PER_CLIENT')}"

    def tell_take(self, cost: int = 1, wait_ms: int = 0) -> None:
        """Starts to acquire; `taken` waits for it. A wait of -1 is for ever."""
        self._worker.tell(f"acquire {self._place} {cost} {wait_ms}")

    def taken(self, bound: float = SOON) -> Decision:
        kind, *words = self._worker.answer(bound)
        if kind == "refused":
            raise Refused(words[0], " ".join(words[1:]))
        assert kind == "decided", kind
        allowed, granted, remaining, retry, *rest = words
        reset, limit, server_time = map(int, rest)
        retry_after = None if retry == "-" else int(retry)
        return Decision(allowed == "true", int(granted), int(remaining), retry_after, reset, limit, server_time)

    def take(self, cost: int = 1, wait_ms: int = 0) -> Decision:
        self.tell_take(cost, wait_ms)
        return self.taken(SOON + max(wait_ms, 0) / 1000)

    def peek(self) -> Decision:
        self._worker.tell(f"peek {self._place}")
        return self.taken()

    def reset(self) -> None:
        assert self._worker.ask(f"reset {self._place}") == ["reset"]


def build() -> str:
    """Builds the program; where it is."""
    return str(crates.built("libdlock-redisson-worker") / "dlock-redisson-worker")


def log(wire: Wire, key: str) -> list[tuple[bytes, float]]:
    """The members of a log and their scores, the oldest first. Members are no texts."""
    script = """local log = redis.call('ZRANGE', KEYS[1], 0, -1, 'WITHSCORES')
        for i = 1, #log, 2 do
            log[i] = string.gsub(log[i], '.', function(byte) return string.format('%02x', string.byte(byte)) end)
        end
        return log"""
    reply = wire.command("EVAL", script, "1", key)
    assert isinstance(reply, list)
    texts = [str(item) for item in reply]
    return [(bytes.fromhex(member), float(score)) for member, score in zip(texts[::2], texts[1::2], strict=True)]


def permits(member: bytes) -> int:
    """The permits of a member, whose layout is checked."""
    assert len(member) == 21, member
    assert member[0] == 16, member
    return int.from_bytes(member[17:], "little")
