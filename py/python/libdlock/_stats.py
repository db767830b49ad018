"""What a client has counted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from . import _native

if TYPE_CHECKING:
    from typing_extensions import Self


@dataclass(frozen=True, slots=True)
class Histogram:
    """How often something took how long; times are in seconds."""

    count: int
    sum: float
    mean: float
    p50: float
    """What half of them did not exceed: never too small, less than twice too large."""
    p99: float
    """What 99 of 100 did not exceed, as precise."""
    max: float
    buckets: tuple[int, ...]
    """How many took less than 1 us, 1 to 2 us, 2 to 4 us, and so on; the last one counts everything longer too."""


@dataclass(frozen=True, slots=True)
class Stats:
    """What a client has counted since it was opened, for its locks; rate limiters are not counted."""

    acquired: int
    """Holds granted to a caller; re-entries are none."""
    contended: int
    """Of those, the ones that had to wait."""
    handed_over_local: int
    """Of those that waited, the ones that a holder of this process handed over."""
    handed_over_remote: int
    """Of those that waited, the ones whose turn came in the queue between processes."""
    wait_timeouts: int
    """Acquires that were not granted within their wait."""
    cancelled: int
    """Acquires whose caller gave up while they waited."""
    retries: int
    """Requests sent again because no answer came."""
    renewals: int
    """Leases prolonged by the watchdog, one for each lock and time."""
    renewal_failures: int
    """Renewals that failed and were tried again while the lease lasted."""
    lost: int
    """Holds that were lost."""
    released: int
    """Holds that ended by a release."""
    waiting: int
    """Callers that wait now."""
    held: int
    """Holds that are looked after now."""
    wait_time: Histogram
    """From the call of an acquire to its grant: as many as `acquired`."""
    hold_time: Histogram
    """From a grant to the beginning of its release: as many as `released`."""

    @classmethod
    def _of(cls, client: int) -> Self:
        counters, wait_time, hold_time = _native.client_stats(client)
        return cls(*counters, _histogram(wait_time), _histogram(hold_time))


def _histogram(times: tuple[int, float, float, float, float, float, list[int]]) -> Histogram:
    count, total, mean, p50, p99, longest, buckets = times
    return Histogram(count, total, mean, p50, p99, longest, tuple(buckets))
