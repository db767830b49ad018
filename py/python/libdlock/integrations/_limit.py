"""What all frameworks do with a request: find its key and its cost, and ask the limiter."""

from __future__ import annotations

import asyncio
import inspect
import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar

from .. import _limiter, aio
from .._decision import NamedLimiter
from .._errors import DlockError
from ..aio._port import in_trio
from ._fields import Policy
from ._refusal import Granted, Refusal, decided, undecided

if TYPE_CHECKING:
    from ._trio import Making

Key: TypeAlias = Callable[..., Any]
"""Says whose tokens a request needs: a `str`, or `None` for the limiter's own."""
Cost: TypeAlias = int | Callable[..., Any]
"""How many it needs."""
Skip: TypeAlias = Callable[..., Any]
"""Whether it needs none."""

_R = TypeVar("_R", bound=NamedLimiter)

_OTHER = {
    "RateLimiter of libdlock": "a limiter of libdlock.aio can only be asked from tasks",
    "RateLimiter of libdlock.aio": "a limiter of libdlock would block the event loop",
}


class Limit(Generic[_R]):
    """A limiter, and how it is asked."""

    #: What is expected, and how errors call it.
    _class: type[_R]
    _what: str

    def __init__(
        self,
        limiter: object,
        *,
        key: Key | None,
        by_address: Callable[..., str | None],
        cost: Cost,
        skip: Skip | None,
        name: str | None,
    ) -> None:
        for what, given in (("key", key), ("skip", skip)):
            if given is not None and not callable(given):
                raise TypeError(f"{what} must be a function, not {type(given).__name__}")
        if not callable(cost) and (isinstance(cost, bool) or not isinstance(cost, int)):
            raise TypeError(f"cost must be int or a function, not {type(cost).__name__}")
        if name is not None and not isinstance(name, str):
            raise TypeError(f"name must be str, not {type(name).__name__}")
        self._make: Callable[[], Any] | None = limiter if callable(limiter) else None
        self._made: _R | None = None if callable(limiter) else self._checked(limiter)
        self._key = by_address if key is None else key
        self._cost = cost
        self._skip = skip
        self._name = name
        self._known: tuple[NamedLimiter, Policy] | None = None

    def _checked(self, limiter: object) -> _R:
        if isinstance(limiter, self._class):
            return limiter
        given = type(limiter)
        found = f"{given.__module__}.{given.__qualname__}"
        message = f"limiter must be a {self._what}, or a function that makes one, not {found}"
        if isinstance(limiter, NamedLimiter):
            message = f"limiter must be a {self._what}: {_OTHER[self._what]}"
        raise TypeError(message)

    def _ready(self) -> _R | None:
        """The limiter, unless it has to be made: at first, in the child of a fork, and when its client was closed."""
        made = self._made
        if self._make is None or made is None:
            return made
        return None if made._client.closed or made._client._process != os.getpid() else made

    def _keep(self, made: object) -> _R:
        limiter = self._checked(made)
        # What makes one for each application keeps them by itself.
        self._made = None if getattr(self._make, "keeps", False) else limiter
        return limiter

    def _policy(self, limiter: NamedLimiter) -> Policy:
        known = self._known
        if known is None or known[0] is not limiter:
            name = limiter.name if self._name is None else self._name
            known = self._known = (limiter, Policy(name, limiter.rates))
        return known[1]

    def _key_given(self, key: object) -> str | None:
        """A key that a function returned. An empty one is none."""
        if key is None or isinstance(key, str):
            return key or None
        function = getattr(self._key, "__qualname__", type(self._key).__name__)
        raise TypeError(f"the key function {function} must return str or None, not {type(key).__name__}")


class BlockingLimit(Limit[_limiter.RateLimiter]):
    """One that is asked on the thread of the request. Functions are called with what the framework gives them."""

    _class = _limiter.RateLimiter
    _what = "RateLimiter of libdlock"

    def ask(self, *request: object) -> Granted | Refusal:
        """What becomes of a request."""
        if self._skip is not None and _plain(self._skip(*request), "skip"):
            return Granted()
        key = self._key_given(_plain(self._key(*request), "key"))
        cost = _plain(self._cost(*request), "cost") if callable(self._cost) else self._cost
        policy = None
        try:
            limiter = self._ready() or self._keep(self._make and self._make())
            policy = self._policy(limiter)
            return decided(limiter.try_acquire(cost, key=key), policy)
        except DlockError as error:
            return undecided(error, policy)


class TaskLimit(Limit[aio.RateLimiter]):
    """One that is asked in the task of the request. Functions may be coroutine functions."""

    _class = aio.RateLimiter
    _what = "RateLimiter of libdlock.aio"
    _making: asyncio.Task[aio.RateLimiter] | None = None
    _making_in_trio: Making[aio.RateLimiter] | None = None

    async def ask(self, *request: object) -> Granted | Refusal:
        """What becomes of a request."""
        if self._skip is not None and await awaited(self._skip(*request)):
            return Granted()
        key = self._key_given(await awaited(self._key(*request)))
        cost = await awaited(self._cost(*request)) if callable(self._cost) else self._cost
        policy = None
        try:
            limiter = self._ready() or await self._made_once()
            policy = self._policy(limiter)
            return decided(await limiter.try_acquire(cost, key=key), policy)
        except DlockError as error:
            return undecided(error, policy)

    async def _made_once(self) -> aio.RateLimiter:
        """The limiter that the first request makes. Those that come meanwhile wait for it, and share the error when there is
        one: one after the other each would wait for as long as a server that does not answer is waited for."""
        if in_trio():
            return await self._made_once_in_trio()
        making = self._making
        if making is None or making.done() or making.get_loop() is not asyncio.get_running_loop():
            making = self._making = asyncio.ensure_future(self._make_one())
            # Also where nobody waits any more.
            making.add_done_callback(lambda made: made.cancelled() or made.exception())
        # A request that is cancelled leaves the limiter to the others.
        return await asyncio.shield(making)

    async def _made_once_in_trio(self) -> aio.RateLimiter:
        from ._trio import Making

        making = self._making_in_trio
        if making is None or not making.is_under_way():
            making = self._making_in_trio = Making(self._make_one)
        return await making.result()

    async def _make_one(self) -> aio.RateLimiter:
        return self._keep(await awaited(self._make and self._make()))


def _plain(given: Any, what: str) -> Any:
    """What a function returned, which is no coroutine: as a condition that would always be true."""
    if inspect.isawaitable(given):
        if inspect.iscoroutine(given):
            given.close()
        raise TypeError(f"{what} must be a function that returns its answer, not a coroutine function")
    return given


async def awaited(given: Any) -> Any:
    """What a function returned, or what its coroutine does."""
    return await given if inspect.isawaitable(given) else given
