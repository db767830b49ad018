"""The fields of an answer, as draft-ietf-httpapi-ratelimit-headers-10 writes them. docs/http.md has the rules."""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence
from typing import TypeAlias

from .._convert import microseconds
from .._decision import Decision
from .._rate import Rate

Fields: TypeAlias = tuple[tuple[str, str], ...]
"""Names and values, in the order in which they are added."""

POLICY = "RateLimit-Policy"
LIMIT = "RateLimit"
RETRY_AFTER = "Retry-After"

_SECOND = 1_000_000
#: IPv4 addresses that were translated by NAT64 (RFC 6052).
_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
#: An integer of structured fields (RFC 9651) has at most 15 digits.
_LARGEST = 10**15 - 1


class Policy:
    """What a limiter says about itself: the rates, by a name."""

    def __init__(self, name: str, rates: Sequence[Rate]) -> None:
        periods = [microseconds(rate.per, "per", op="rate limiter") for rate in rates]
        quoted = _escaped(name)
        self._names = (
            [f'"{quoted}"']
            if len(rates) == 1
            else [f'"{quoted}-{number}"' for number in range(1, len(rates) + 1)]
        )
        self._bursts = [rate.tokens if rate.burst is None else rate.burst for rate in rates]
        entries = []
        for name, rate, period in zip(self._names, rates, periods, strict=True):
            window = _seconds_up(period)
            quota = min(rate.tokens * window * _SECOND // period, _LARGEST)
            entries.append(f"{name};q={quota};w={window}")
        self._field = (POLICY, ", ".join(entries))

    @property
    def alone(self) -> Fields:
        """The fields when nothing was decided."""
        return (self._field,)

    def of(self, decision: Decision) -> Fields:
        """The fields of an answer to what was decided so."""
        fields = [self._field]
        if decision.server_time is not None:  # otherwise nobody knows
            value = f"{self._names[self._told_of(decision)]};r={decision.remaining}"
            if len(self._names) == 1:
                value += f";t={in_seconds(decision.reset_after)}"
            fields.append((LIMIT, value))
        wait = retry_after(decision)
        if wait is not None:
            fields.append((RETRY_AFTER, str(wait)))
        return tuple(fields)

    def _told_of(self, decision: Decision) -> int:
        """Which of the rates the answer is about."""
        if decision.refused_by is not None:
            return decision.refused_by
        return self._bursts.index(decision.limit) if decision.limit in self._bursts else 0


def retry_after(decision: Decision) -> int | None:
    """After how many seconds a refused request may come again; `None` if it was granted, or never is."""
    if decision.allowed or decision.retry_after is None:
        return None
    return max(in_seconds(decision.retry_after), 1)


def in_seconds(duration: float) -> int:
    """Whole seconds, rounded up from what the core had, which counts microseconds."""
    return _seconds_up(round(duration * _SECOND))


def _seconds_up(duration_us: int) -> int:
    return -(-duration_us // _SECOND)


def _escaped(name: str) -> str:
    """A name between quotes: nothing of it can end the text, or the line."""
    return "".join(map(_byte, name.encode(errors="surrogatepass")))


def _byte(byte: int) -> str:
    char = chr(byte)
    if char in '"\\':
        return f"\\{char}"
    return char if " " <= char <= "~" and char != "%" else f"%{byte:02X}"


def joined(present: str | None, name: str, value: str) -> str:
    """A field that the answer may already have: lists are continued, and a `Retry-After` stays as it is."""
    if not present:
        return value
    return present if name == RETRY_AFTER else f"{present}, {value}"


def address_key(address: str | None) -> str | None:
    """Whose tokens a client's address needs: IPv6 addresses count by their first 64 bits."""
    if not address:
        return None
    if ":" not in address:
        return address
    try:
        parsed = ipaddress.IPv6Address(address.partition("%")[0])
    except ValueError:
        return address
    if parsed.ipv4_mapped is not None:
        return str(parsed.ipv4_mapped)
    if parsed in _NAT64:
        return str(ipaddress.IPv4Address(int(parsed) & 0xFFFFFFFF))
    return str(ipaddress.IPv6Address(int(parsed) >> 64 << 64))
