"""What the decorators `RateLimiter.limit` of threads and of tasks share: whose tokens a call needs, and its refusal."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, TypeAlias

from ._decision import Decision
from ._errors import DlockError
from ._template import Template

LimitKey: TypeAlias = str | Callable[..., str | None]
"""The key of a call: a text with the function's parameters, such as `"user:{user_id}"`, or a function of its arguments."""


class RateLimited(DlockError):
    """A rate limiter refused the call of a function that `RateLimiter.limit` decorates; the function was not called."""

    code = 2
    kind = "LIMITED"
    decision: Decision
    """What the limiter decided; `retry_after` of the error is that of the decision."""

    def __init__(self, decision: Decision, name: str) -> None:
        wait = decision.retry_after
        again = "this call can never be granted" if wait is None else f"again in {_readable(wait)} s"
        super().__init__(
            f"rate limiter {name!r}: the call was refused; {again}",
            op="rate limit",
            name=name,
            retry_after=wait,
            retryable=wait is not None,
        )
        self.decision = decision

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.decision, self.name)


def _readable(seconds: float) -> str:
    return f"{seconds:.3g}" if seconds < 100 else f"{seconds:.0f}"


def refuse_unless_called(function: Any, *, tasks: bool) -> None:
    """A decorator of calls is for what runs when it is called: functions, and with `tasks` coroutine functions alone."""
    if isinstance(function, (staticmethod, classmethod)):
        raise TypeError(f"put @{type(function).__name__} above the decorator, not below it")
    if not callable(function) or isinstance(function, type):
        raise TypeError(f"limit decorates a function, not {function!r}")
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise TypeError(f"{function!r} would run its body after the call: ask the limiter in its body")
    is_coroutine = any(map(inspect.iscoroutinefunction, (function, type(_called(function)).__call__)))
    if tasks and not is_coroutine:
        raise TypeError(f"{function!r} is no coroutine function: use a limiter of libdlock.connect")
    if not tasks and is_coroutine:
        raise TypeError(f"{function!r} is a coroutine function: use a limiter of libdlock.aio.connect")


def _called(function: Any) -> Any:
    """What is called in the end, of a `partial` too."""
    while isinstance(function, functools.partial):
        function = function.func
    return function


def key_of_call(key: LimitKey | None, function: Callable[..., Any]) -> Callable[..., str | None]:
    """What says whose tokens a call of `function` needs."""
    if key is None:
        return lambda *args, **kwargs: None
    if not isinstance(key, str):
        if not callable(key):
            raise TypeError(f"key must be str or a function, not {type(key).__name__}")
        return _checked(key)
    written = Template(key, "key").of_calls(function)
    return lambda *args, **kwargs: written(*args, **kwargs) or None


def _checked(key: Callable[..., object]) -> Callable[..., str | None]:
    def called(*args: Any, **kwargs: Any) -> str | None:
        made = key(*args, **kwargs)
        if made is None or isinstance(made, str):
            return made or None
        function = getattr(key, "__qualname__", type(key).__name__)
        raise TypeError(f"the key function {function} must return str or None, not {type(made).__name__}")

    return called
