"""What a queue takes and gives: jobs that are to be put, what a put has done, counts, jobs in lists, the back-off."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import KW_ONLY, dataclass
from datetime import datetime, timedelta, timezone
from typing import NamedTuple, TypeAlias

from . import _native
from ._convert import Seconds, milliseconds, optional_ms, whole
from ._errors import refused
from ._shown import shown

Payload: TypeAlias = str | bytes | bytearray | memoryview
"""What a job may be: bytes, or a text, of which the UTF-8 is put."""

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_PUT = "put"


@dataclass(frozen=True, slots=True)
class NewJob:
    """A job for `put_many`. The fields are the arguments of `put`."""

    payload: Payload
    _: KW_ONLY
    delay: Seconds | None = None
    at: datetime | float | None = None
    id: str | None = None
    priority: int = 0


class Put(NamedTuple):
    """What a put has done."""

    id: str
    """The id of the job: the given one, or a new one."""
    is_new: bool
    """`False` when a job with this id was there already: nothing was put."""


class QueueCounts(NamedTuple):
    """How many jobs a queue has, at one instant."""

    ready: int
    """Jobs that are due."""
    delayed: int
    """Jobs that are not due yet."""
    in_flight: int
    """Jobs that were delivered and not ended. Some may be lost already: the next take puts them back."""
    dead: int
    """Jobs that were delivered as often as they may be."""
    waiters: int
    """Processes that wait for jobs."""


@dataclass(frozen=True, slots=True)
class ListedJob:
    """A job as a list shows it."""

    id: str
    """The id of the job."""
    payload: bytes
    """What was put."""
    attempts: int
    """How often it was delivered."""
    due: datetime
    """When it is due, or was, by the server's clock."""
    dead_since: datetime | None = None
    """When it died, by the server's clock; `None` for a job that waits."""
    reason: str | None = None
    """Why its last delivery failed; `None` for a job that waits."""


class Backoff:
    """How long a job waits that failed: `base` at most after the first time, twice as long after each further one, and
    `longest` at most. By chance up to half of that less, so that jobs that failed together do not come back together.

    With a `base` of 0 it does not wait.
    """

    __slots__ = ("_base_ms", "_longest_ms", "base", "longest")

    def __init__(self, base: Seconds = 1.0, longest: Seconds = 300.0) -> None:
        self.base = base
        self.longest = longest
        self._base_ms = milliseconds(base, "base", op="back-off")
        self._longest_ms = milliseconds(longest, "longest", op="back-off")
        _native.backoff_ms(1, self._base_ms, self._longest_ms)

    def delay(self, attempt: int) -> float:
        """How many seconds a job waits whose delivery of this number has failed, from 1 on."""
        number = whole(attempt, "attempt", op="back-off")
        return _native.backoff_ms(number, self._base_ms, self._longest_ms) / 1000

    @shown
    def __repr__(self) -> str:
        return f"Backoff(base={self.base!r}, longest={self.longest!r})"


def time_of(ms: int) -> datetime:
    """Milliseconds since 1970 as a time."""
    return _EPOCH + timedelta(milliseconds=ms)


def listed(jobs: Iterable[_native._ListedJob]) -> list[ListedJob]:
    """A list of jobs as the core gives it."""
    return [
        ListedJob(id, payload, attempts, time_of(due), None if since is None else time_of(since), reason)
        for id, payload, attempts, due, since, reason in jobs
    ]


def new_job(job: NewJob, name: str) -> _native._NewJob:
    """A job as the core takes it."""
    payload = job.payload
    if isinstance(payload, str):
        payload = encoded(payload, "payload", name)
    elif isinstance(payload, bytearray | memoryview):
        payload = bytes(payload)
    elif not isinstance(payload, bytes):
        raise TypeError(f"a payload must be str or bytes, not {type(payload).__name__}")
    id = None if job.id is None else id_bytes(job.id, name, _PUT)
    delay = optional_ms(job.delay, "delay", op=_PUT, name=name)
    at = None if job.at is None else _unix_ms(job.at, name)
    return payload, id, delay, at, whole(job.priority, "priority", op=_PUT, name=name)


def _unix_ms(at: datetime | float, name: str) -> int:
    if not isinstance(at, datetime):
        return milliseconds(at, "at", op=_PUT, name=name)
    if at.tzinfo is None:
        allowed = "a datetime with a time zone, or seconds since 1970"
        raise refused(f"at: {at!r} has no time zone", allowed, op=_PUT, name=name)
    return milliseconds(at - _EPOCH, "at", op=_PUT, name=name)


def id_bytes(id: str, name: str, op: str) -> bytes:
    """The id of a job as UTF-8. Its other rules are the core's."""
    if not isinstance(id, str):
        raise TypeError(f"the id of a job must be str, not {type(id).__name__}")
    return encoded(id, "id", name, op)


def encoded(text: str, what: str, name: str, op: str = _PUT) -> bytes:
    """`text` as UTF-8."""
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        given = f"{what}: there is a lone surrogate at position {error.start}"
        raise refused(given, "bytes, or text without lone surrogates", op=op, name=name) from None
