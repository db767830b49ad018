"""What the decorators `RateLimiter.limit` of threads and of tasks share: whose tokens a call needs, and its refusal."""

from __future__ import annotations

import inspect
import string
from collections.abc import Callable
from typing import Any, TypeAlias

from ._decision import Decision
from ._errors import DlockError

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
        again = "this call can never be granted" if wait is None else f"again in {wait:.3g} s"
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


def refuse_unless_called(function: Any, *, tasks: bool) -> None:
    """A decorator of calls is for what runs when it is called: functions, and with `tasks` coroutine functions alone."""
    if isinstance(function, (staticmethod, classmethod)):
        raise TypeError(f"put @{type(function).__name__} above the decorator, not below it")
    if not callable(function) or isinstance(function, type):
        raise TypeError(f"limit decorates a function, not {function!r}")
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise TypeError(f"{function!r} would run its body after the call: ask the limiter in its body")
    if tasks and not inspect.iscoroutinefunction(function):
        raise TypeError(f"{function!r} is no coroutine function: use a limiter of libdlock.connect")
    if not tasks and inspect.iscoroutinefunction(function):
        raise TypeError(f"{function!r} is a coroutine function: use a limiter of libdlock.aio.connect")


def key_of_call(key: LimitKey | None, function: Callable[..., Any]) -> Callable[..., str | None]:
    """What says whose tokens a call of `function` needs."""
    if key is None:
        return lambda *args, **kwargs: None
    if not isinstance(key, str):
        if not callable(key):
            raise TypeError(f"key must be str or a function, not {type(key).__name__}")
        return _checked(key)
    signature = inspect.signature(function)
    for _, field, _, _ in string.Formatter().parse(key):
        if (
            field is not None
            and (name := field.partition(".")[0].partition("[")[0]) not in signature.parameters
        ):
            there = ", ".join(signature.parameters) or "none"
            raise TypeError(
                f"the key names a parameter {name!r} that the function does not have; it has: {there}"
            )

    def formatted(*args: Any, **kwargs: Any) -> str | None:
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        return key.format_map(bound.arguments) or None

    return formatted


def _checked(key: Callable[..., object]) -> Callable[..., str | None]:
    def called(*args: Any, **kwargs: Any) -> str | None:
        made = key(*args, **kwargs)
        if made is None or isinstance(made, str):
            return made or None
        function = getattr(key, "__qualname__", type(key).__name__)
        raise TypeError(f"the key function {function} must return str or None, not {type(made).__name__}")

    return called
