"""Texts with the parameters of a function: keys of `RateLimiter.limit`, names of `Client.synchronized`."""

from __future__ import annotations

import inspect
import string
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, TypeVar, cast

_T = TypeVar("_T")

_BRACES = "write {{ and }} for braces"


class Template:
    """A text such as `"user:{user_id}"`; `what` is what it is for."""

    def __init__(self, text: str, what: str) -> None:
        if not isinstance(text, str):
            raise TypeError(f"a {what} must be str, not {type(text).__name__}")
        self._text = text
        self._what = what
        try:
            self._fields = list(_fields(text))
        except ValueError as error:
            raise ValueError(f"the {what} {text!r}: {error}; {_BRACES}") from None

    @property
    def outline(self) -> str:
        """The text with the name of each field in its place; without fields the text itself."""
        parts = string.Formatter().parse(self._text)
        return "".join(literal + ("" if field is None else field or "_") for literal, field, _, _ in parts)

    def opened(self, open_one: Callable[[str], _T], function: Callable[..., Any]) -> Callable[..., _T]:
        """Returns a function that opens the object for a call of `function`: one for all calls where there are no fields."""
        if not self._fields:
            one = open_one(self.outline)
            return lambda *args, **kwargs: one
        written = self.of_calls(function)
        return lambda *args, **kwargs: open_one(written(*args, **kwargs))

    def of_calls(self, function: Callable[..., Any]) -> Callable[..., str]:
        """Returns a function that writes the text for a call of `function`."""
        signature = inspect.signature(function)
        for field in self._fields:
            if (name := field.partition(".")[0].partition("[")[0]) not in signature.parameters:
                there = ", ".join(signature.parameters) or "none"
                raise TypeError(
                    f"the {self._what} names a parameter {name!r} that the function does not have; it has: {there}; "
                    f"{_BRACES}"
                )
        writer = _Writer(self._what)

        def written(*args: Any, **kwargs: Any) -> str:
            bound = signature.bind(*args, **kwargs)
            bound.apply_defaults()
            return writer.vformat(self._text, (), bound.arguments)

        return written


def _fields(text: str | None) -> Iterator[str]:
    """The fields of a format string, also those of format specifications."""
    for _, field, specification, _ in string.Formatter().parse(text or ""):
        if field is not None:
            yield field
            yield from _fields(specification)


class _Writer(string.Formatter):
    """Writes texts. That of a plain object has its address, so that each object would make another."""

    def __init__(self, what: str) -> None:
        self._what = what

    def get_field(self, field_name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        value, first = super().get_field(field_name, args, kwargs)
        if why := _without_text(value, set()):
            raise TypeError(f"the {self._what} names {field_name!r}, {why}")
        return value, first


def _without_text(value: object, seen: set[int]) -> str | None:
    """Why the text of an object may differ from that of an equal one, if it does."""
    if id(value) in seen:
        return None
    seen.add(id(value))
    kind = type(value)
    found = f"a {kind.__module__}.{kind.__qualname__}"
    if all(getattr(kind, way) is getattr(object, way) for way in ("__repr__", "__str__", "__format__")):
        return f"{found}, whose text is its address: name something that identifies it, such as its id"
    if kind in (set, frozenset) and len(cast(Collection[object], value)) > 1:
        return f"{found}, whose order, and with it its text, is another in each process: name a sorted list"
    if kind is dict:
        parts = [part for item in cast(dict[object, object], value).items() for part in item]
    else:
        parts = list(cast(Collection[object], value)) if kind in (list, tuple, set, frozenset) else []
    return next((why for part in parts if (why := _without_text(part, seen))), None)
