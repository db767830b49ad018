"""The rate limiter for tasks, with the methods of `libdlock.RateLimiter` as coroutines."""

from __future__ import annotations

import functools
from collections.abc import Callable, Coroutine, Iterable
from typing import Any, ParamSpec, TypeVar

from .. import _native
from .._convert import DO_NOT_WAIT, Seconds, optional_ms
from .._decision import (
    Decision,
    NamedLimiter,
    Undecided,
    answered,
    as_decision,
    cost_given,
    items_given,
    key_given,
    length_given,
    tokens_given,
)
from .._limited import LimitKey, RateLimited, key_of_call, refuse_unless_called
from ._port import running_port

_P = ParamSpec("_P")
_T = TypeVar("_T")


class RateLimiter(NamedLimiter):
    """A rate limit of one name, made by `Client.rate_limiter` and shared by all that any process makes of that name.

    It is judged by the server's clock. A decision is never asked for twice: one whose reply was lost raises `OutcomeUnknown`
    and counts as spent, and so may one whose task was cancelled. May be shared between tasks, also of several loops.
    """

    _label = "libdlock.aio.RateLimiter"

    async def try_acquire(self, cost: int = 1, *, key: str | None = None) -> Decision:
        """Takes `cost` tokens if they are there now. A refusal is a decision, not an exception.

        With a `key`, such as a user's id, those of the bucket of that key: each key has one, under the name `NAME:KEY`.
        The client keeps nothing of a key that nobody waits for, so there may be millions of them.

        A cost above the burst can never be granted: it is refused with `retry_after` `None`. `InvalidName` for a key that is
        empty, or makes a name that is too long or holds NUL or odd braces.
        """
        if self._prefetches and key is None:
            decision = self._at_once(cost)
            if decision is not None:
                return decision
        return await self._ask(cost, DO_NOT_WAIT, key)

    async def try_acquire_many(self, items: Iterable[tuple[str, int]]) -> list[Decision | Undecided]:
        """Takes tokens of several keys, a cost for each, in one round trip for every 256 of them: an answer for each, in
        the same order.

        1 to 10,000 pairs of a key and a cost. What is wrong with one, such as a key of 10 kB or a negative cost, is
        its own answer, an `Undecided` with the exception in `error`, and no matter of the others. Like a refusal it is
        false. When a reply was lost, each item of that write has `OutcomeUnknown`. A key may occur several times.
        """
        given, own = items_given(items, self._name)
        answers = await running_port().call(_native.submit_limiter_acquire_many, self._number, given)
        return answered(answers, own)

    async def acquire(
        self, cost: int = 1, wait: Seconds | None = None, *, key: str | None = None
    ) -> Decision:
        """Takes `cost` tokens, waiting for them `wait` seconds at most (`None`: for ever, 0: not at all).

        All waiters, in all processes, are served in the order in which their requests reach the server; a wait that cannot
        be long enough is refused at once. A cost of 0 asks how things stand, as `peek`, and never waits. Cancelling the
        task gives the tokens back.
        """
        return await self._ask(cost, optional_ms(wait, "wait", op="rate limit", name=self._name), key)

    def limit(
        self, *, key: LimitKey | None = None, cost: int = 1, wait: Seconds | None = None
    ) -> Callable[[Callable[_P, Coroutine[Any, Any, _T]]], Callable[_P, Coroutine[Any, Any, _T]]]:
        """A decorator: each call of the coroutine function takes `cost` tokens first, and waits for them as `acquire` does
        (`wait=0`: not at all). `RateLimited` if it does not get them; the function is not called then.

        `key` is a text with the function's parameters, such as `"user:{user_id}"`, or a function that is called with its
        arguments. One that returns `None`, or an empty text, means the limiter's own tokens.
        """
        cost_given(cost, self._name)
        optional_ms(wait, "wait", op="rate limit", name=self._name)

        def decorate(
            function: Callable[_P, Coroutine[Any, Any, _T]],
        ) -> Callable[_P, Coroutine[Any, Any, _T]]:
            refuse_unless_called(function, tasks=True)
            key_of = key_of_call(key, function)

            @functools.wraps(function)
            async def limited(*args: _P.args, **kwargs: _P.kwargs) -> _T:
                decision = await self.acquire(cost, wait, key=key_of(*args, **kwargs))
                if not decision:
                    raise RateLimited(decision, self._name)
                return await function(*args, **kwargs)

            return limited

        return decorate

    async def peek(self, *, key: str | None = None) -> Decision:
        """How things stand for one token, without spending any."""
        return await self._ask(0, DO_NOT_WAIT, key)

    async def reset(self, *, key: str | None = None) -> None:
        """Forgets what was taken, and a block, for everybody. For operators and tests."""
        await running_port().call(_native.submit_limiter_reset, self._number, key_given(key))

    async def reserve(
        self, cost: int = 1, wait: Seconds | None = None, *, key: str | None = None
    ) -> Decision:
        """Takes `cost` tokens now, for use when they are there, within `wait` seconds (`None`: whenever that is).

        `usable_after` of the decision says in how many. The caller keeps to that time; nothing waits here. Refused when it
        would be longer.

        What is not wanted after all goes back with `reward`. `InvalidArgument` under `redisson`, which has no reservations.
        """
        given = cost_given(cost, self._name)
        longest = optional_ms(wait, "wait", op="rate limit", name=self._name)
        return as_decision(
            await running_port().call(
                _native.submit_limiter_reserve, self._number, given, longest, key_given(key)
            )
        )

    async def penalty(self, tokens: int, *, key: str | None = None) -> None:
        """Takes `tokens` whether or not they are there: who comes next waits the longer for it. For a request that turned
        out to cost more than it was let in for.

        1 to the burst, and not under `redisson`; otherwise `InvalidArgument`. `OutcomeUnknown` when no reply came.
        """
        given = tokens_given(tokens, self._name, "penalty")
        await running_port().call(_native.submit_limiter_penalty, self._number, given, key_given(key))

    async def reward(self, tokens: int, *, key: str | None = None) -> None:
        """Gives `tokens` back, as if they had not been taken: never more than were. What waits already keeps its time.

        1 to the burst, and not under `redisson`; otherwise `InvalidArgument`. `OutcomeUnknown` when no reply came.
        """
        given = tokens_given(tokens, self._name, "reward")
        await running_port().call(_native.submit_limiter_reward, self._number, given, key_given(key))

    async def block(self, length: Seconds, *, key: str | None = None) -> None:
        """Grants nothing to anybody for `length` seconds from now on, whatever the rates would allow; 0 ends it. The last
        call counts. Those that wait, or come to wait, get their tokens after it; what was reserved keeps its time.
        What other clients have fetched ahead (`prefetch`) can be used for another second at most.

        0 to 100 years, and not under `redisson`; otherwise `InvalidArgument`.
        """
        given = length_given(length, self._name)
        await running_port().call(_native.submit_limiter_block, self._number, given, key_given(key))

    async def _ask(self, cost: int, wait: int | None, key: str | None) -> Decision:
        cost, of_key = cost_given(cost, self._name), key_given(key)
        port = running_port()
        if wait == DO_NOT_WAIT:
            return as_decision(await port.decide(self._number, self._alike, cost, of_key))
        return as_decision(await port.call(_native.submit_limiter_acquire, self._number, cost, wait, of_key))
