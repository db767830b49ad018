"""What a Celery task may say of its runs: at most one at a time, and at most so many in a time."""

from __future__ import annotations

import hashlib
import inspect
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, get_args

from kombu.utils import json

from .._convert import Seconds, optional_ms
from .._errors import refused
from .._options import Absent
from .._rate import Rate

Duplicate: TypeAlias = Literal["skip", "ignore", "retry", "fail"]
"""What becomes of a run whose lock is held by another one."""

Key: TypeAlias = Callable[..., str] | Sequence[str]
"""A function of the task's arguments that returns a `str`, or the names of the arguments that count."""

#: Such a key is part of the name as it stands; any other by its digest, which no key of this form can be equal to.
_PLAIN = re.compile(r"[A-Za-z0-9_.:@/=,+-]{1,200}")


@dataclass(frozen=True, slots=True)
class Once:
    """At most one run of a task with the same key at a time, in all workers. Durations are seconds or a `timedelta`."""

    key: Key | None = None
    """Which runs are the same: those with the same arguments; with the same of these arguments, if names are given (`()`
    is all runs of the task); with the same result of this function of the arguments."""
    wait: Seconds | None = 0
    """How long the worker waits for the other run; `None` is without end. A process of the worker is busy for so long."""
    duplicate: Duplicate = "skip"
    """What becomes of a run that has waited in vain: `"skip"` ends it successfully with the result `None`, `"ignore"`
    without a result, which also ends its chain, `"retry"` sends it to the queue again, `"fail"` raises `AcquireTimeout`."""
    retry_after: Seconds = 10
    """In how long a run that was sent to the queue again is due."""
    lease: Seconds | None = None
    """A fixed lease, which is not renewed: a run that takes longer loses its lock. By default the client's lease, which is
    renewed for as long as the process lives."""
    name: str | None = None
    """The name of the lock, to which `:` and the key are added: by default `celery:` and the task's name."""

    def __post_init__(self) -> None:
        _check_key(self.key, "Once")
        optional_ms(self.wait, "wait", op="once")
        optional_ms(self.lease, "lease", op="once")
        optional_ms(self.retry_after, "retry_after", op="once")
        if self.duplicate not in get_args(Duplicate):
            allowed = ", ".join(get_args(Duplicate))
            raise refused(f"duplicate is {self.duplicate!r}", allowed, op="once")

    def lock_name(self, task: Any, args: Iterable[Any], kwargs: dict[str, Any]) -> str:
        """The lock of a run."""
        key = _arguments(task, args, kwargs) if self.key is None else _key(self.key, task, args, kwargs)
        return f"{self.name or f'celery:{task.name}'}:{_part(key)}"


@dataclass(frozen=True, slots=True)
class Limit:
    """At most so many runs in a time, in all workers. A run that is refused is sent to the queue again."""

    rates: Rate | Sequence[Rate]
    """How many: `libdlock.Rate(10, per=60)`, or several rates, all of which must grant a run."""
    key: Key | None = None
    """What has a limit of its own: by default the task as a whole, otherwise as in `Once`."""
    cost: int = 1
    """The tokens of one run."""
    wait: Seconds | None = 0
    """How long the worker waits for the tokens if they come in that time."""
    absent: Absent = "fail"
    """What is answered while the server cannot be reached. After `"fail"` the run is sent to the queue again."""
    name: str | None = None
    """The name of the limiter, by default `celery:` and the task's name. Tasks with the same name share one limit."""

    def __post_init__(self) -> None:
        _check_key(self.key, "Limit")
        optional_ms(self.wait, "wait", op="limit")
        given = self.rates
        for each in (given,) if isinstance(given, Rate) else given:
            if not isinstance(each, Rate):
                raise TypeError(f"rates must be libdlock.Rate each, not {type(each).__name__}")

    def limiter_name(self, task: Any) -> str:
        """The limiter of a task."""
        return self.name or f"celery:{task.name}"

    def bucket(self, task: Any, args: Iterable[Any], kwargs: dict[str, Any]) -> str | None:
        """The bucket of a run."""
        return None if self.key is None else _part(_key(self.key, task, args, kwargs))


def _check_key(key: Key | None, of: str) -> None:
    if key is None or callable(key):
        return
    if isinstance(key, str) or not all(isinstance(each, str) for each in key):
        raise TypeError(f"key of {of} must be a function, or a list of names of arguments, not {key!r}")


def _part(key: str) -> str:
    """A key of whatever text and length as the part of a name."""
    if _PLAIN.fullmatch(key):
        return key
    return "#" + hashlib.sha256(key.encode(errors="surrogatepass")).hexdigest()


def _key(key: Key, task: Any, args: Iterable[Any], kwargs: dict[str, Any]) -> str:
    if callable(key):
        made = key(*args, **kwargs)
        if not isinstance(made, str):
            raise TypeError(f"the key of task {task.name} must be a str, not {type(made).__name__}")
        return made
    return _arguments(task, args, kwargs, key)


def _arguments(
    task: Any, args: Iterable[Any], kwargs: dict[str, Any], names: Sequence[str] | None = None
) -> str:
    """The arguments as JSON, the same however they were passed."""
    bound = inspect.signature(task.run).bind(*args, **kwargs)
    bound.apply_defaults()
    given = bound.arguments
    for name in names or ():
        if name not in given:
            allowed = ", ".join(given) or "none"
            raise refused(f"task {task.name} has no argument {name!r}", allowed, op="once", name=task.name)
    counted = given if names is None else {name: given[name] for name in names}
    try:
        return str(json.dumps(counted, sort_keys=True))
    except TypeError as error:
        raise TypeError(
            f"the arguments of task {task.name} have no JSON form ({error}): name those that count, or give a function, "
            "as key"
        ) from error
