"""What the decorators `RateLimiter.limit` of threads and of tasks share: whose tokens a call needs, and its refusal."""

from __future__ import annotations

import functools
import inspect
import string
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, TypeAlias, cast

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
    signature = inspect.signature(function)
    for field in _fields(key):
        if (name := field.partition(".")[0].partition("[")[0]) not in signature.parameters:
            there = ", ".join(signature.parameters) or "none"
            raise TypeError(
                f"the key names a parameter {name!r} that the function does not have; it has: {there}"
            )

    def formatted(*args: Any, **kwargs: Any) -> str | None:
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        return _key_text.vformat(key, (), bound.arguments) or None

    return formatted


def _fields(text: str | None) -> Iterator[str]:
    """The fields of a format string, also those of format specifications."""
    for _, field, specification, _ in string.Formatter().parse(text or ""):
        if field is not None:
            yield field
            yield from _fields(specification)


class _KeyText(string.Formatter):
    """Writes keys. The text of a plain object has its address, so that each object would have a bucket of its own."""

    def get_field(self, field_name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        value, first = super().get_field(field_name, args, kwargs)
        if why := _without_text(value, set()):
            raise TypeError(f"the key names {field_name!r}, {why}")
        return value, first


def _without_text(value: object, seen: set[int]) -> str | None:
    """Why the text of an object may differ from that of an equal one, if it does."""
    if id(value) in seen:
        return None
    seen.add(id(value))
    kind = type(value)
    found = f"a {kind.__module__}.{kind.__qualname__}"
    if all(getattr(kind, way) is getattr(object, way) for way in ("__repr__", "__str__", "__format__")):
        return f"{found}, which has no text of its own: name something that identifies it, such as its id"
    if kind in (set, frozenset) and len(cast(Collection[object], value)) > 1:
        return f"{found}, whose order, and with it its text, is another in each process: name a sorted list"
    if kind is dict:
        parts = [part for item in cast(dict[object, object], value).items() for part in item]
    else:
        parts = list(cast(Collection[object], value)) if kind in (list, tuple, set, frozenset) else []
    return next((why for part in parts if (why := _without_text(part, seen))), None)


_key_text = _KeyText()


def _checked(key: Callable[..., object]) -> Callable[..., str | None]:
    def called(*args: Any, **kwargs: Any) -> str | None:
        made = key(*args, **kwargs)
        if made is None or isinstance(made, str):
            return made or None
        function = getattr(key, "__qualname__", type(key).__name__)
        raise TypeError(f"the key function {function} must return str or None, not {type(made).__name__}")

    return called
