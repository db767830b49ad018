"""What clients count, as monitoring systems name it: the same names in every language."""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Any, Protocol

from .._stats import Histogram, Stats

# <api:metrics> written by `python3 api/write.py` from api/records.json
WHAT = {
    "retries": "Requests sent again because no answer came.",
    "acquired": "Grants to a caller.",
    "contended": "Grants for which the caller had to wait.",
    "handed_over_local": "Of the grants that were waited for, those that a holder of this process handed over.",
    "handed_over_remote": "Of the grants that were waited for, those whose turn came in the queue between processes.",
    "wait_timeouts": "Calls that got nothing within their wait.",
    "cancelled": "Calls whose caller gave up while it waited.",
    "renewals": "Leases prolonged by the watchdog.",
    "renewal_failures": "Renewals that got no answer or a passing error, and were tried again.",
    "lost": "Holds that were lost.",
    "released": "Holds that ended by a release.",
    "waiting": "Callers that wait now.",
    "held": "Holds that are looked after now.",
    "granted": "Calls that got their tokens.",
    "refused": "Calls that were refused.",
    "tokens": "Tokens that were granted.",
    "by_policy": "Calls that a policy decided while the server was away.",
    "counted_down": "Calls that counted a latch down.",
    "opened": "Waits that found a latch open.",
    "put": "Jobs put.",
    "duplicates": "Jobs that were not put because a job of their id was there.",
    "full": "Requests to put jobs that were refused because the queue was full.",
    "taken": "Jobs delivered to a caller.",
    "acked": "Deliveries that were acknowledged.",
    "nacked": "Deliveries that were put back.",
    "dead": "Deliveries put back whose job is dead.",
    "removed": "Jobs that were cancelled, purged, or removed from the dead ones.",
    "wait_time": "From a call to its grant.",
    "hold_time": "From a grant to the beginning of its end.",
}
KINDS = {
    "lock": "lock",
    "limiter": "rate-limiter",
    "semaphore": "semaphore",
    "rw_lock": "rw-lock",
    "counting_semaphore": "counting-semaphore",
    "latch": "latch",
    "worker": "worker",
    "queue": "queue",
}
GAUGES = ("waiting", "held")
# </api:metrics>


class Counts(Protocol):
    """A client, of threads or of tasks."""

    @property
    def closed(self) -> bool: ...

    def stats(self) -> Stats: ...


@dataclass(frozen=True, slots=True)
class Seen:
    """Statistics of one kind of object of one client."""

    client: str
    kind: str | None
    """Of the client itself none."""
    block: Any

    def get(self, field: str) -> Any:
        """The statistic of that name; `None` if this kind has none."""
        return getattr(self.block, field, None)


def times() -> list[str]:
    """The statistics that are histograms."""
    return [field for field in WHAT if field.endswith("_time")]


def upper_bounds(times: Histogram) -> Iterator[tuple[float, int]]:
    """How many took less than so many seconds, for each bucket; the last has no bound."""
    below = 0
    for at, count in enumerate(times.buckets):
        below += count
        is_last = at == len(times.buckets) - 1
        yield (float("inf") if is_last else 2**at / 1e6), below


class Sources:
    """The clients of one registry, by their names. Weak: it keeps no client open."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._clients: dict[str, tuple[int, weakref.ref[Counts]]] = {}

    def add(self, name: str, client: Counts) -> None:
        """A client that closed, or is of the process before a fork, gives its name to the next one."""
        with self._lock:
            before = self._living(name)
            if before is not None and before is not client and not before.closed:
                raise ValueError(
                    f"a client named {name!r} is exported here already: give each a name of its own, by name="
                )
            self._clients[name] = os.getpid(), weakref.ref(client)

    def remove(self, name: str, client: Counts) -> None:
        """Ends the export of a client, if it is this one that has the name."""
        with self._lock:
            if self._living(name) is client:
                del self._clients[name]

    def seen(self) -> list[Seen]:
        """The statistics of all of them now. A kind of object that a client has not used is left out."""
        with self._lock:
            living = {name: self._living(name) for name in list(self._clients)}
        return [each for name, client in living.items() if client for each in _seen(name, client.stats())]

    def _living(self, name: str) -> Counts | None:
        process, client = self._clients.get(name, (0, None))
        return client() if client is not None and process == os.getpid() else None


def _seen(name: str, stats: Stats) -> Iterator[Seen]:
    yield Seen(name, None, stats)
    for field, kind in KINDS.items():
        block = getattr(stats, field)
        values = (getattr(block, each.name) for each in fields(block))
        if any(value.count if isinstance(value, Histogram) else value for value in values):
            yield Seen(name, kind, block)
