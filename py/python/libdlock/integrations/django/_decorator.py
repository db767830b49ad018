"""A decorator of views."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, TypeAlias, TypeVar

from asgiref.sync import iscoroutinefunction, markcoroutinefunction
from django.http import HttpRequest

from ... import RateLimiter, aio
from .._limit import BlockingLimit, Cost, Key, Skip, TaskLimit, awaited
from .._refusal import Refusal
from ._answers import OnRefused, address, answer_given, problem, with_fields
from ._clients import aio_maker, maker

Limiter: TypeAlias = str | RateLimiter | aio.RateLimiter | Callable[[], Any]
"""A name of `LIBDLOCK["LIMITERS"]`, a limiter, or a function that makes one at the first request."""

_V = TypeVar("_V", bound=Callable[..., Any])


def rate_limit(
    limiter: Limiter,
    *,
    key: Key | None = None,
    cost: Cost = 1,
    skip: Skip | None = None,
    name: str | None = None,
    on_refused: OnRefused | None = None,
) -> Callable[[_V], _V]:
    """A decorator of a view that asks a limiter. A sync view has one of `libdlock`, an async view one of `libdlock.aio`.

    `key`, `cost` and `skip` are functions of the request; those of an async view may be coroutine functions. `key` says
    whose tokens a request needs (`None`: the limiter's own; by default those of the client's address), `cost` how many,
    `skip` whether it needs none. `name` is the limiter's name in the fields of the answer, in place of that on the server.
    `on_refused(request, refusal)` answers in place of a problem (RFC 9457).

    Views that are classes are decorated as views: `rate_limit("search")(Search.as_view())`.
    """
    arguments: dict[str, Any] = {"key": key, "by_address": address, "cost": cost, "skip": skip, "name": name}

    # `method_decorator` decorates anew for each request, which has to find the limiter that was made for the one before.
    @functools.cache
    def tasks() -> TaskLimit:
        return TaskLimit(aio_maker(limiter) if isinstance(limiter, str) else limiter, **arguments)

    @functools.cache
    def threads() -> BlockingLimit:
        return BlockingLimit(maker(limiter) if isinstance(limiter, str) else limiter, **arguments)

    def decorate(view: Any) -> Any:
        if isinstance(view, type) or not callable(view):
            raise TypeError(f"rate_limit decorates a view, not {view!r}; of a class, its as_view()")
        if iscoroutinefunction(view):
            return _async(view, tasks(), on_refused)
        return _sync(view, threads(), on_refused)

    return decorate


def _sync(view: Callable[..., Any], limit: BlockingLimit, on_refused: OnRefused | None) -> Any:
    @functools.wraps(view)
    def limited(request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
        asked = limit.ask(request)
        if not isinstance(asked, Refusal):
            response = view(request, *args, **kwargs)
            if inspect.iscoroutine(response):
                response.close()
                raise TypeError(
                    "rate_limit decorates the dispatch of an async view; decorate what as_view() returns"
                )
        else:
            response = problem(asked) if on_refused is None else answer_given(on_refused(request, asked))
        return with_fields(response, asked.fields)

    return limited


def _async(view: Callable[..., Any], limit: TaskLimit, on_refused: OnRefused | None) -> Any:
    @functools.wraps(view)
    async def limited(request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
        asked = await limit.ask(request)
        if not isinstance(asked, Refusal):
            response = await view(request, *args, **kwargs)
        else:
            response = (
                problem(asked)
                if on_refused is None
                else answer_given(await awaited(on_refused(request, asked)))
            )
        return with_fields(response, asked.fields)

    return markcoroutinefunction(limited)
