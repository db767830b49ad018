"""The verbs of rate limiters in Python."""

from __future__ import annotations

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
    ) -> Values:
        self._things[limiter] = self._clients[client].rate_limiter(
            name,
            rate=int(tokens),
            per=int(per_us) / 1_000_000,
            burst=None if burst is None else int(burst),
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

    async def reset(self, limiter: str, key: str | None = None) -> Values:
        await done(self._things[limiter].reset(key=key))
        return {}


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
    }
