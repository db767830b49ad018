"""The verbs of rate limiters in Python."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import libdlock
from verbs import Values, Verbs, done, seconds, us


class RateLimiterVerbs(Verbs):
    async def limiter(
        self,
        client: str,
        name: str,
        limiter: str,
        tokens: str,
        per_us: str,
        burst: str | None = None,
        absent: str = "fail",
        share_of: str | None = None,
        algorithm: str = "gcra",
        more: str = "",
    ) -> Values:
        first = rate(tokens, per_us, algorithm, None if burst is None else int(burst))
        others = [
            rate(tokens, per_us, word) for tokens, per_us, word in (each.split("/") for each in more.split(",") if each)
        ]
        self._things[limiter] = self._clients[client].rate_limiter(
            name,
            rates=[first, *others],
            absent=absent,
            share_of=None if share_of is None else int(share_of),
        )
        return {}

    async def spend(self, limiter: str, cost: str, wait_ms: str = "0", key: str | None = None) -> Values:
        return decided(await done(self._things[limiter].acquire(int(cost), wait=seconds(wait_ms), key=key)))

    async def spend_many(self, limiter: str, items: str) -> Values:
        pairs = [(key, int(cost)) for key, cost in (item.split("*") for item in items.split(","))]
        answers = await done(self._things[limiter].try_acquire_many(pairs))
        return {"granted": ",".join(granted(answer) for answer in answers)}

    async def peek(self, limiter: str, key: str | None = None) -> Values:
        return decided(await done(self._things[limiter].peek(key=key)))

    async def counted_decisions(self, client: str) -> Values:
        limiter = self._clients[client].stats().limiter
        return {
            "granted": limiter.granted,
            "refused": limiter.refused,
            "tokens": limiter.tokens,
            "by_policy": limiter.by_policy,
            "waiting": limiter.waiting,
            "waits": limiter.wait_time.count,
        }

    async def reserve(self, limiter: str, cost: str, wait_ms: str | None = None, key: str | None = None) -> Values:
        wait = None if wait_ms is None else seconds(wait_ms)
        return decided(await done(self._things[limiter].reserve(int(cost), wait=wait, key=key)))

    async def penalty(self, limiter: str, tokens: str, key: str | None = None) -> Values:
        await done(self._things[limiter].penalty(int(tokens), key=key))
        return {}

    async def reward(self, limiter: str, tokens: str, key: str | None = None) -> Values:
        await done(self._things[limiter].reward(int(tokens), key=key))
        return {}

    async def block(self, limiter: str, length_ms: str, key: str | None = None) -> Values:
        await done(self._things[limiter].block(timedelta(milliseconds=int(length_ms)), key=key))
        return {}

    async def reset(self, limiter: str, key: str | None = None) -> Values:
        await done(self._things[limiter].reset(key=key))
        return {}


def rate(tokens: str, per_us: str, algorithm: str, burst: int | None = None) -> libdlock.Rate:
    word: Any = algorithm.removesuffix("_per_client")
    per = timedelta(microseconds=int(per_us))
    return libdlock.Rate(int(tokens), per, burst, word, per_client=word != algorithm)


def granted(answer: libdlock.Decision | libdlock.Undecided) -> str:
    return answer.error.kind if isinstance(answer, libdlock.Undecided) else str(answer.granted)


def decided(decision: libdlock.Decision) -> Values:
    return {
        "allowed": decision.allowed,
        "granted": decision.granted,
        "remaining": decision.remaining,
        "retry_after_us": us(decision.retry_after),
        "reset_after_us": us(decision.reset_after),
        "limit": decision.limit,
        "refused_by": decision.refused_by,
        "usable_after_us": us(decision.usable_after),
    }
