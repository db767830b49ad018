"""What the rate limiters of threads and of tasks share: how they are made, and what they answer."""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any, Generic, Literal, TypeVar, cast

from . import _native
from ._convert import Seconds, milliseconds, name_bytes, utf8, whole
from ._errors import DlockError, InvalidArgument
from ._opened import OpenedClient, of_client
from ._options import Absent
from ._rate import Algorithm, Rate, carried, rates_given
from ._unheld import UnheldObject


@dataclass(frozen=True, slots=True)
class Decision:
    """A rate limiter's answer. True when it allowed. Durations are in seconds."""

    # <api:decision> written by `python3 api/write.py` from api/records.json
    allowed: bool
    """Whether the tokens were granted; of a `peek`, whether one could be had."""
    granted: int
    """How many were: the cost, or 0."""
    remaining: int
    """How many could be had at once now; zero while a block refuses all."""
    retry_after: float | None
    """How long until the same cost can be granted, at the soonest: zero when it was granted, `None` for never."""
    reset_after: float
    """How long until the bucket is full again, and a block over."""
    limit: int
    """The most that can be had at once: the burst, or this client's share of it when a policy granted that."""
    refused_by: int | None
    """Which of the limiter's rates is the last to have the tokens of a request that was refused, counted from 0;
    `None` when it was granted, and when a block or a policy refused it.
    """
    usable_after: float
    """How long until the tokens that were granted may be used: zero except after `reserve`."""
    server_time: int | None
    """When it was decided, or from when on the tokens that were waited for may be used, on the server's clock, in
    microseconds since 1970; `None` when a policy decided without the server.
    """
    # </api:decision>

    def __bool__(self) -> bool:
        return self.allowed


class _Told:
    """A `Decision` that is being made. A frozen dataclass sets each field by a call, which takes five times as long."""

    __slots__ = tuple(field.name for field in fields(Decision))

    def __init__(
        self,
        allowed: bool,
        granted: int,
        remaining: int,
        retry_after: float | None,
        reset_after: float,
        limit: int,
        refused_by: int | None,
        usable_after: float,
        server_time: int | None,
    ) -> None:
        self.allowed = allowed
        self.granted = granted
        self.remaining = remaining
        self.retry_after = retry_after
        self.reset_after = reset_after
        self.limit = limit
        self.refused_by = refused_by
        self.usable_after = usable_after
        self.server_time = server_time


def as_decision(told: tuple[Any, ...]) -> Decision:
    """What the core has told."""
    made: Any = _Told(*told)
    made.__class__ = Decision  # it has the same slots
    return cast(Decision, made)


@dataclass(frozen=True, slots=True)
class Undecided:
    """An item of a batch that has no decision, but an error of its own. False: nothing was allowed."""

    error: DlockError
    """What the item met, as the exception that a single call would have raised."""
    allowed: Literal[False] = False
    """Always false."""

    def __bool__(self) -> bool:
        return False


class Alike:
    """The same for all limiters of a client with one name and the same options: a program may make one for each call."""

    __slots__ = ("__weakref__",)


_alike: weakref.WeakValueDictionary[tuple[object, ...], Alike] = weakref.WeakValueDictionary()


class NamedLimiter(UnheldObject):
    """A rate limiter of one name."""

    def __init__(
        self,
        client: OpenedClient,
        name: str,
        rates: tuple[Rate, ...],
        absent: Absent,
        share_of: int | None,
        prefetch: float | None,
    ) -> None:
        op = "rate limiter"
        encoded = name_bytes(name, op=op)
        share = None if share_of is None else whole(share_of, "share_of", op=op, name=name)
        options = (
            [carried(rate, name) for rate in rates],
            (utf8(absent, "absent", op=op), share),
            _share_given(prefetch),
        )
        handle = _native.limiter_open(client._number, encoded, *options)
        super().__init__(client, name, handle)
        given = (client._number, encoded, tuple(options[0]), *options[1:])
        self._alike = _alike.setdefault(given, Alike())
        self._rates = rates
        self._prefetches = prefetch is not None

    def _at_once(self, cost: int) -> Decision | None:
        """The decision, if the tokens that were fetched ahead allow one without the server."""
        told = _native.limiter_try_acquire_now(self._number, cost_given(cost, self._name))
        return None if told is None else as_decision(told)

    @property
    def rates(self) -> tuple[Rate, ...]:
        """What it lets through, as it was given: one rate, or several."""
        return self._rates


_R = TypeVar("_R", bound=NamedLimiter)


class OpensLimiters(OpenedClient, Generic[_R]):
    """A client's way to its rate limiters."""

    _limiter_class: type[_R]

    @of_client
    def rate_limiter(
        self,
        name: str,
        *,
        rate: int | None = None,
        per: Seconds | None = None,
        burst: int | None = None,
        algorithm: Algorithm | None = None,
        per_client: bool = False,
        rates: Iterable[Rate] | None = None,
        absent: Absent = "fail",
        share_of: int | None = None,
        prefetch: float | None = None,
    ) -> _R:
        """The rate limiter of that name: `rate` tokens in `per` seconds (1 us to 100 years). Costs no I/O.

        `burst` is the most tokens at once, the whole bucket; as many as `rate` by default. A rate of 0 refuses everything.
        `algorithm` says how they are counted, `"gcra"` by default; see `Rate`, which also explains `per_client`.

        `rates` takes the place of all these: 1 to 8 of `Rate`, all of which must grant a request for any of them to be
        charged. Of two, the one with the longer period has more tokens.

        `absent` says what is answered while the server cannot be reached: an error (`"fail"`, the default), a refusal
        (`"deny"`), a permission (`"allow"`), or one by this process's own count of one `share_of`th of the rate
        (`"local_share"`).

        `prefetch` is the largest part of the burst that this client may fetch ahead, more than 0 and at most 1, for
        a name that is asked for thousands of times a second. While it has tokens, `try_acquire` takes about a
        microsecond and no round trip; the server is asked some 25 times a second, up to 45 when there is less than is
        wanted. The rate is kept as without it. The price: a client that has fetched its share goes on for 80 ms or so
        while another is refused, and what a process has that dies, never more than the rate brings in 0.9 s, is lost.
        Calls with a `key` fetch nothing ahead.
        """
        given = rates_given(rate, per, burst, algorithm, per_client, rates)
        return self._limiter_class(self, name, given, absent, share_of, prefetch)


def _share_given(prefetch: float | None) -> float | None:
    """A share for the core."""
    if prefetch is None or (isinstance(prefetch, (int, float)) and not isinstance(prefetch, bool)):
        return prefetch
    raise TypeError(f"prefetch must be a number, not {type(prefetch).__name__}")


def cost_given(cost: int, name: str) -> int:
    """A cost for the core."""
    return whole(cost, "cost", op="rate limit", name=name)


def tokens_given(tokens: int, name: str, op: str) -> int:
    """The tokens of a penalty or a reward for the core."""
    return whole(tokens, "tokens", op=op, name=name)


def length_given(length: Seconds, name: str) -> int:
    """The length of a block for the core."""
    return milliseconds(length, "length", op="block", name=name)


def key_given(key: str | None) -> bytes | None:
    """A key for the core."""
    return None if key is None else key_bytes(key)


def key_bytes(key: str) -> bytes:
    """A key as UTF-8, or as what the core refuses by name."""
    if not isinstance(key, str):
        raise TypeError(f"a key must be str, not {type(key).__name__}")
    return key.encode(errors="surrogatepass")


def items_given(
    items: Iterable[tuple[str, int]], name: str
) -> tuple[list[tuple[bytes, int]], dict[int, Undecided]]:
    """The items of a batch for the core, and the answers to those whose cost cannot be carried to it."""
    given: list[tuple[bytes, int]] = []
    own: dict[int, Undecided] = {}
    for at, (key, cost) in enumerate(_pairs(items)):
        encoded = key_bytes(key)
        try:
            carried = cost_given(cost, name)
        except InvalidArgument as error:
            own[at] = Undecided(error)
            carried = -1  # which the core does not ask for either
        given.append((encoded, carried))
    return given, own


def _pairs(items: Iterable[tuple[str, int]]) -> Iterator[tuple[str, int]]:
    """The items of a batch, if they are pairs."""
    if isinstance(items, (str, bytes, Mapping)) or not isinstance(items, Iterable):
        raise TypeError(f"items must be an iterable of pairs (key, cost), not {type(items).__name__}")
    for item in items:
        if not isinstance(item, (tuple, list)):
            raise TypeError(f"an item must be a pair (key, cost), not {type(item).__name__}")
        if len(item) != 2:
            raise TypeError(f"an item must be a pair (key, cost), not {len(item)} values")
        yield item[0], item[1]


def answered(answers: list[Any], own: dict[int, Undecided]) -> list[Decision | Undecided]:
    """The answers to a batch."""
    decided = (as_decision(answer) if isinstance(answer, tuple) else Undecided(answer) for answer in answers)
    return [own.get(at, answer) for at, answer in enumerate(decided)]
