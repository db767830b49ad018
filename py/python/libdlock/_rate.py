"""Rates: what a limiter lets through, and how it counts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, TypeAlias

from ._convert import Seconds, microseconds, utf8, whole
from ._errors import refused

Algorithm: TypeAlias = Literal[
    "gcra", "fixed_window", "aligned_window", "sliding_log", "sliding_counter", "redisson"
]
"""How a rate counts."""

_OP = "rate limiter"


@dataclass(frozen=True, slots=True)
class Rate:
    """So many tokens in each period, and how they are counted. Checked where a limiter is made."""

    tokens: int
    """The tokens of one period; 0 refuses everything."""
    per: Seconds
    """The period, 1 us to 100 years; the nearest microsecond counts."""
    burst: int | None = None
    """The most tokens at once, the whole bucket, with `gcra` alone; `None` is the tokens of one period."""
    algorithm: Algorithm = "gcra"
    """`gcra`, a bucket that fills evenly; `fixed_window`, windows that begin with a request; `aligned_window`, full
    minutes, hours, days; `sliding_log`, never more in any interval, for 100,000 tokens at most; `sliding_counter`, the same
    in about; `redisson`, on the keys of its `RRateLimiter`, whose rate on the server counts.
    """
    per_client: bool = False
    """With `redisson`: whether each client has the rate for itself."""


def rates_given(
    rate: int | None,
    per: Seconds | None,
    burst: int | None,
    algorithm: Algorithm | None,
    per_client: bool,
    rates: Iterable[Rate] | None,
) -> tuple[Rate, ...]:
    """Either `rates`, or the one rate that the others make."""
    if rates is None:
        if rate is None or per is None:
            raise TypeError("a rate limiter takes rate and per, or rates")
        return (Rate(rate, per, burst, "gcra" if algorithm is None else algorithm, per_client),)
    if per_client or any(each is not None for each in (rate, per, burst, algorithm)):
        raise TypeError("rates takes the place of rate, per, burst, algorithm and per_client")
    if isinstance(rates, (Rate, str, bytes)) or not isinstance(rates, Iterable):
        raise TypeError(f"rates must be an iterable of libdlock.Rate, not {type(rates).__name__}")
    given = tuple(rates)
    for each in given:
        if not isinstance(each, Rate):
            raise TypeError(f"rates must be libdlock.Rate each, not {type(each).__name__}")
    return given


def carried(rate: Rate, name: str) -> tuple[int, int, int | None, str]:
    """A rate for the core."""
    tokens = whole(rate.tokens, "rate", op=_OP, name=name)
    per = microseconds(rate.per, "per", op=_OP, name=name)
    burst = None if rate.burst is None else whole(rate.burst, "burst", op=_OP, name=name)
    algorithm = utf8(rate.algorithm, "algorithm", op=_OP)
    if not rate.per_client:
        return tokens, per, burst, algorithm
    if algorithm != "redisson":
        given = f"per_client was given with the algorithm {algorithm}"
        raise refused(given, "per_client with redisson alone", op=_OP, name=name)
    return tokens, per, burst, "redisson_per_client"
