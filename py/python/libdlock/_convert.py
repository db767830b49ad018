"""From Python's values to the core's: seconds to milliseconds, `str` to UTF-8, keyword options to text.

What a value may be is the core's to decide. Refused here is only what could not be carried to it unchanged.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Mapping
from datetime import timedelta
from typing import SupportsIndex, TypeAlias

from ._errors import InvalidArgument, InvalidName, refused

Seconds: TypeAlias = float | timedelta
"""A duration: seconds as `int` or `float`, or a `timedelta`."""

DO_NOT_WAIT = 0

# Durations cross as whole numbers that every language can hold, other numbers as those of 64 bits.
_MAX_TICKS = 2**53
_INT64 = range(-(2**63), 2**63)
_MILLISECOND = timedelta(milliseconds=1)
_MICROSECOND = timedelta(microseconds=1)
# 8.2 * 1000 is not 8200 in binary; the rounding up below must not make 8201 ms of such a crumb.
_CRUMB = 1e-6
# Python refuses to write numbers of more than 4300 digits, and nobody reads them.
_MOST_BITS_WRITTEN = 4096


def milliseconds(value: Seconds | SupportsIndex, what: str, *, op: str, name: str | None = None) -> int:
    """`value` as whole milliseconds, away from zero: a wait of 0.1 ms is short, but it is a wait."""
    return _ticks(value, _MILLISECOND, what, op, name)


def microseconds(value: Seconds | SupportsIndex, what: str, *, op: str, name: str | None = None) -> int:
    """`value` as whole microseconds: the nearest, for a third of a second has no exact number of them."""
    if isinstance(value, float) and abs(value) <= _MAX_TICKS:
        return round(value * 1_000_000)
    return _ticks(value, _MICROSECOND, what, op, name)


def optional_ms(value: Seconds | None, what: str, *, op: str, name: str | None = None) -> int | None:
    """As `milliseconds`; `None` is what the core takes it for: a wait without end, a lock's own lease."""
    return None if value is None else milliseconds(value, what, op=op, name=name)


def _ticks(value: Seconds | SupportsIndex, tick: timedelta, what: str, op: str, name: str | None) -> int:
    if isinstance(value, bool):
        raise TypeError(f"{what} must be seconds as int or float, or a timedelta, not bool")
    per_second = timedelta(seconds=1) // tick
    if isinstance(value, timedelta):
        # `-value` overflows for the largest ones; the tick's negative never does.
        ticks = -(value // -tick) if value > timedelta(0) else value // tick
    elif isinstance(value, float):
        if not abs(value) <= _MAX_TICKS:  # also false for NaN, and keeps 1e306 from overflowing below
            raise _not_to_be_carried(value, what, op, name)
        ticks = math.ceil(max(abs(value) * per_second - _CRUMB, 0))
        ticks = ticks if value > 0 else -ticks
    else:
        try:
            ticks = operator.index(value) * per_second
        except TypeError:
            kind = type(value).__name__
            raise TypeError(f"{what} must be seconds as int or float, or a timedelta, not {kind}") from None
    if not abs(ticks) <= _MAX_TICKS:
        raise _not_to_be_carried(value, what, op, name)
    return ticks


def whole(value: SupportsIndex, what: str, *, op: str, name: str | None = None) -> int:
    """An integer that can be carried: of 64 bits. Its range is the core's to check."""
    if isinstance(value, bool):
        raise TypeError(f"{what} must be int, not bool")
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{what} must be int, not {type(value).__name__}") from None
    if number not in _INT64:
        raise refused(f"{what}: {_written(value)} given", "integers of 64 bits", op=op, name=name)
    return number


def acquire_wait_ms(blocking: bool, timeout: Seconds | None, name: str) -> int | None:
    """The wait that `RLock.acquire`'s two arguments ask for; without a timeout, as with -1, it has no bound."""
    if timeout is None:
        timeout = -1
    for_ever = isinstance(timeout, int | float) and timeout == -1
    if blocking:
        return None if for_ever else milliseconds(timeout, "timeout", op="acquire", name=name)
    if not for_ever:
        given = f"timeout: {_written(timeout)} given with blocking=False, which does not wait"
        raise refused(given, "-1 and None with blocking=False", op="acquire", name=name)
    return DO_NOT_WAIT


def name_bytes(name: str, *, op: str) -> bytes:
    """An object's name as UTF-8. Its other rules are the core's."""
    if not isinstance(name, str):
        raise TypeError(f"a name must be str, not {type(name).__name__}")
    try:
        return name.encode()
    except UnicodeEncodeError as error:
        allowed = "1 to 512 bytes of UTF-8 without NUL"
        message = f"name {name!r} has a lone surrogate at position {error.start}; allowed: {allowed}"
        raise InvalidName(message, op=op, allowed=allowed) from None


def utf8(text: str, what: str, *, op: str) -> str:
    """`text`, when it can be UTF-8. It may hold a password, so no error repeats it."""
    if not isinstance(text, str):
        raise TypeError(f"{what} must be str, not {type(text).__name__}")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        given = f"{what} has a lone surrogate at position {error.start}"
        raise refused(given, "text without lone surrogates", op=op) from None
    return text


def option_texts(options: Mapping[str, object], durations: frozenset[str]) -> list[tuple[str, str]]:
    """Keyword options as the texts the core parses. An option that is `None` counts as not given."""
    return [
        (name, _option_text(name, value, name.rpartition(".")[2] in durations))
        for name, value in options.items()
        if value is not None
    ]


def _option_text(name: str, value: object, is_duration: bool) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return utf8(value, f"option {name}", op="connect")
    if isinstance(value, timedelta) or (is_duration and isinstance(value, int | float)):
        return f"{milliseconds(value, name, op='connect')}ms"
    if isinstance(value, int | float):
        return str(value)
    raise TypeError(f"option {name}: {type(value).__name__} is not str, bool, int, float or timedelta")


def _not_to_be_carried(value: object, what: str, op: str, name: str | None) -> InvalidArgument:
    allowed = "seconds, finite, and not beyond all reason"
    return refused(f"{what}: {_written(value)} given", allowed, op=op, name=name)


def _written(value: object) -> str:
    if isinstance(value, int) and value.bit_length() > _MOST_BITS_WRITTEN:
        return f"an integer of {value.bit_length()} bits"
    return repr(value)
