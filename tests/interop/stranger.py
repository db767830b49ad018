"""A client of the lock that knows nothing but docs/protocol: scripts of its own, written from its pages, over a bare socket.

What the pages leave open, or say wrongly, shows here: it stands in one queue with the library's processes.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass

from stranger_scripts import (
    ACQUIRE,
    CANCEL,
    COMMON,
    FETCH,
    GIVE_BACK,
    GIVE_NUMBER_BACK,
    JUDGE,
    LEASE_NUMBER,
    LIMIT,
    NUMBERS,
    PUT_BACK,
    RELEASE,
    RENEW_NUMBER,
)
from wire import Reply, Wire

LEASE_MS = 30_000
TOKEN_TTL_MS = 3_600_000


@dataclass(frozen=True)
class Bucket:
    """A limiter by the page: its name and rate, the period in us."""

    name: str
    tokens: int
    per_us: int
    burst: int

    def span(self, cost: int) -> list[str]:
        """What so many tokens take: whole us, and parts."""
        return [str(number) for number in divmod(cost * self.per_us, self.tokens)]


class Stranger:
    """One process of another client: one place in each queue, and an inbox that is listened to from the start."""

    def __init__(self, port: int) -> None:
        bits = list(str(uuid.uuid4()))
        bits[14] = "8"
        self.client = "".join(bits)
        self._attempts = 0
        self._wire, self._inbox = Wire(port, every_right=False), Wire(port, every_right=False)
        inbox = f"dlock_inbox:{self.client}"
        assert self._inbox.command("SUBSCRIBE", inbox) == ["subscribe", inbox, 1]

    def close(self) -> None:
        self._wire.close()
        self._inbox.close()

    def _run(self, script: str, keys: list[str], *arguments: str) -> list[Reply]:
        reply = self._wire.command("EVAL", script.replace("COMMON", COMMON), str(len(keys)), *keys, *arguments)
        assert isinstance(reply, list)
        return reply

    def _not_after(self) -> str:
        time = self._wire.command("TIME")
        assert isinstance(time, list)
        seconds, us = time
        return str(int(str(seconds)) * 1_000_000 + int(str(us)) + 1_000_000)

    def acquire(self, lock: str, *, waits: bool = True, block: int = 1) -> list[Reply]:
        """One acquire, with a new owner; the reply as it is on the page."""
        self._attempts += 1
        keys = [lock, f"redisson_lock_token:{{{lock}}}", *queue_keys(lock)]
        limits = [str(LEASE_MS), self._not_after(), str(TOKEN_TTL_MS), str(block)]
        return self._run(ACQUIRE, keys, self.owner, *limits, "1" if waits else "0")

    @property
    def owner(self) -> str:
        """Of the last attempt."""
        return f"{self.client}:{self._attempts}"

    def release(self, lock: str, *, rejoin: bool = False) -> list[Reply]:
        """Ends the hold of the last attempt."""
        channel = f"redisson_lock__channel:{{{lock}}}"
        return self._run(RELEASE, [lock, *queue_keys(lock)], self.owner, channel, "1" if rejoin else "0")

    def cancel(self, lock: str) -> list[Reply]:
        """Leaves the queue."""
        return self._run(CANCEL, [lock, *queue_keys(lock)], self.client, self._not_after())

    def judge(self, bucket: Bucket, cost: int, *, wait_us: int = 0) -> list[int]:
        """Asks for tokens: whether they were granted, when that was, and the TAT, as they are on the page."""
        reply = self._limit(JUDGE, bucket, cost, str(wait_us))
        assert isinstance(reply, list)
        return [int(str(number)) for number in reply]

    def give_back(self, bucket: Bucket, cost: int, tat: list[int]) -> int:
        """Gives back what left that TAT."""
        return int(str(self._limit(GIVE_BACK, bucket, cost, *map(str, tat))))

    def fetch(self, bucket: Bucket, wanted: int) -> list[int]:
        """Fetches up to so many tokens, one at least: whether it did, when that was, and the TAT before and after it."""
        span = bucket.span(wanted)
        reply = self._limit(FETCH, bucket, 1, *span, "0", *span)
        assert isinstance(reply, list)
        return [int(str(number)) for number in reply]

    def put_back(self, bucket: Bucket, unused: int, tat: list[int]) -> int:
        """Gives back the last tokens of what was fetched, which left that TAT."""
        return int(str(self._limit(PUT_BACK, bucket, unused, *map(str, tat))))

    def lease_number(self, pool: str, *, lease_ms: int = LEASE_MS, size: int = 16) -> list[int]:
        """Leases a number, with a new owner; the reply as it is on the page."""
        self._attempts += 1
        reply = self._number(LEASE_NUMBER, pool, str(lease_ms), self._not_after(), str(size))
        assert isinstance(reply, list)
        return [int(str(number)) for number in reply]

    def renew_number(self, pool: str, how_far: int, *, lease_ms: int = LEASE_MS) -> int:
        """Renews the number of the last attempt, whose time will have gone so far: how long the lease is, in ms."""
        return int(str(self._number(RENEW_NUMBER, pool, str(lease_ms), "0", str(how_far))))

    def give_number_back(self, pool: str, used: int) -> int:
        """Releases the number of the last attempt, under which nothing is later than that."""
        return int(str(self._number(GIVE_NUMBER_BACK, pool, str(used))))

    def _number(self, script: str, pool: str, *arguments: str) -> Reply:
        keys = [f"dlock_id_{each}:{{{pool}}}" for each in ("pool", "leases", "free")]
        return self._wire.command("EVAL", script.replace("NUMBERS", NUMBERS), "3", *keys, self.owner, *arguments)

    def _limit(self, script: str, bucket: Bucket, cost: int, *more: str) -> Reply:
        arguments = [str(bucket.tokens), *bucket.span(cost), *bucket.span(bucket.burst), *more]
        return self._wire.command("EVAL", script.replace("LIMIT", LIMIT), "1", f"dlock_limit:{{{bucket.name}}}", *arguments)

    def message(self) -> str:
        """The next message in the inbox."""
        reply = self._inbox.read()
        assert isinstance(reply, list)
        kind, _, text = reply
        assert kind == "message"
        return str(text)


def queue_keys(lock: str) -> list[str]:
    """Q and S."""
    return [f"dlock_queue:{{{lock}}}", f"dlock_seen:{{{lock}}}"]
