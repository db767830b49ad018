"""What a client has counted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from . import _native


@dataclass(frozen=True, slots=True)
class Histogram:
    """How often something took how long; times are in seconds."""

    # <api:histogram> written by `python3 api/write.py` from api/records.json
    count: int
    """How many there were."""
    sum: float
    """All together."""
    mean: float
    """On average."""
    p50: float
    """What half of them did not exceed: never too small, less than twice too large."""
    p99: float
    """What 99 of 100 did not exceed, as precise."""
    max: float
    """The longest."""
    buckets: tuple[int, ...]
    """How many took less than 1 us, 1 to 2 us, 2 to 4 us, and so on; the last one counts everything longer too."""
    # </api:histogram>


@dataclass(frozen=True, slots=True)
class LockStats:
    """What the locks of a client have counted."""

    # <api:lock-stats> written by `python3 api/write.py` from api/records.json
    acquired: int
    """Holds granted to a caller; taking over a detached hold counts, a re-entry does not."""
    contended: int
    """Acquires that had to wait, and were granted."""
    handed_over_local: int
    """Of those that waited, the ones that a holder of this process handed over."""
    handed_over_remote: int
    """Of those that waited, the ones whose turn came in the queue between processes."""
    wait_timeouts: int
    """Acquires that were not granted within their wait."""
    cancelled: int
    """Acquires whose caller gave up while it waited."""
    renewals: int
    """Leases prolonged by the watchdog, one for each lock and time."""
    renewal_failures: int
    """Renewals that got no answer or a passing error, and were tried again while the lease lasted."""
    lost: int
    """Holds that were lost, abandoned ones included."""
    released: int
    """Holds that ended by a release; detaching is one."""
    waiting: int
    """Callers that wait now."""
    held: int
    """Holds that are looked after now."""
    wait_time: Histogram
    """From the call of an acquire to its grant, waited or not: as many as `acquired`."""
    hold_time: Histogram
    """From a grant to the beginning of its release: as many as `released`."""
    # </api:lock-stats>


@dataclass(frozen=True, slots=True)
class LimiterStats:
    """What the rate limiters of a client have counted; a `peek` is not counted."""

    # <api:limiter-stats> written by `python3 api/write.py` from api/records.json
    granted: int
    """Calls that got their tokens."""
    refused: int
    """Calls that were refused."""
    tokens: int
    """Tokens that were granted."""
    by_policy: int
    """Of all these calls, the ones that a policy decided while the server was away."""
    waiting: int
    """Callers that wait now."""
    wait_time: Histogram
    """From a call to its grant, waited or not: as many as `granted`."""
    # </api:limiter-stats>


@dataclass(frozen=True, slots=True)
class SemaphoreStats:
    """What the semaphores of a client have counted."""

    # <api:semaphore-stats> written by `python3 api/write.py` from api/records.json
    acquired: int
    """Holds granted to a caller, of however many permits each."""
    contended: int
    """Acquires that had to wait, and were granted."""
    handed_over_local: int
    """Of those that waited, the ones that a holder of this process handed over."""
    handed_over_remote: int
    """Of those that waited, the ones whose turn came in the queue between processes."""
    wait_timeouts: int
    """Acquires that were not granted within their wait."""
    cancelled: int
    """Acquires whose caller gave up while it waited."""
    renewals: int
    """Leases prolonged by the watchdog, one for each hold and time."""
    renewal_failures: int
    """Renewals that got no answer or a passing error, and were tried again while the lease lasted."""
    lost: int
    """Holds that were lost, abandoned ones included."""
    released: int
    """Holds that ended by a release."""
    waiting: int
    """Callers that wait now."""
    held: int
    """Holds that are looked after now."""
    wait_time: Histogram
    """From the call of an acquire to its grant, waited or not: as many as `acquired`."""
    hold_time: Histogram
    """From a grant to the beginning of its release: as many as `released`."""
    # </api:semaphore-stats>


@dataclass(frozen=True, slots=True)
class RwLockStats:
    """What the read-write locks of a client have counted."""

    # <api:rw-lock-stats> written by `python3 api/write.py` from api/records.json
    acquired: int
    """Holds granted to a caller, of either side; a re-entry does not count."""
    contended: int
    """Acquires that had to wait, and were granted."""
    handed_over_local: int
    """Of those that waited, the readers that share the hold of another one of this process."""
    handed_over_remote: int
    """Of those that waited, the ones whose turn came in the queue between processes."""
    wait_timeouts: int
    """Acquires that were not granted within their wait."""
    cancelled: int
    """Acquires whose caller gave up while it waited."""
    renewals: int
    """Leases prolonged by the watchdog, one for each hold of the server and time."""
    renewal_failures: int
    """Renewals that got no answer or a passing error, and were tried again while the lease lasted."""
    lost: int
    """Holds of the server that were lost, abandoned ones included."""
    released: int
    """Holds that ended by a release."""
    waiting: int
    """Callers that wait now."""
    held: int
    """Holds of the server that are looked after now."""
    wait_time: Histogram
    """From the call of an acquire to its grant, waited or not: as many as `acquired`."""
    hold_time: Histogram
    """From a grant to the beginning of its release: as many as `released`."""
    # </api:rw-lock-stats>


@dataclass(frozen=True, slots=True)
class CountingSemaphoreStats:
    """What the counting semaphores of a client have counted; `released` may exceed `acquired`: anybody may release."""

    # <api:counting-semaphore-stats> written by `python3 api/write.py` from api/records.json
    acquired: int
    """Acquires that were granted, of however many permits each."""
    contended: int
    """Acquires that had to wait, and were granted."""
    wait_timeouts: int
    """Acquires that were not granted within their wait."""
    cancelled: int
    """Acquires whose caller gave up while it waited."""
    released: int
    """Releases that the server has confirmed, of however many permits each."""
    waiting: int
    """Callers that wait now."""
    wait_time: Histogram
    """From the call of an acquire to its grant, waited or not: as many as `acquired`."""
    # </api:counting-semaphore-stats>


@dataclass(frozen=True, slots=True)
class LatchStats:
    """What the latches of a client have counted."""

    # <api:latch-stats> written by `python3 api/write.py` from api/records.json
    counted_down: int
    """Calls that counted down, by however many each."""
    opened: int
    """Waits that found the latch open."""
    wait_timeouts: int
    """Waits whose time was over first."""
    cancelled: int
    """Waits whose caller gave up."""
    waiting: int
    """Callers that wait now."""
    wait_time: Histogram
    """From the call of a wait until it found the latch open: as many as `opened`."""
    # </api:latch-stats>


@dataclass(frozen=True, slots=True)
class WorkerStats:
    """What the worker numbers of a client have counted."""

    # <api:worker-stats> written by `python3 api/write.py` from api/records.json
    acquired: int
    """Numbers leased."""
    refused: int
    """Leases that were refused because all numbers were taken."""
    renewals: int
    """Leases prolonged by the watchdog, one for each number and time."""
    renewal_failures: int
    """Renewals that got no answer or a passing error, and were tried again while the lease lasted."""
    lost: int
    """Numbers that were lost."""
    released: int
    """Numbers that were given back."""
    held: int
    """Numbers that are looked after now."""
    wait_time: Histogram
    """From the call to the number: as many as `acquired`."""
    hold_time: Histogram
    """From the lease of a number to the beginning of its release: as many as `released`."""
    # </api:worker-stats>


@dataclass(frozen=True, slots=True)
class QueueStats:
    """What the queues of a client have counted."""

    # <api:queue-stats> written by `python3 api/write.py` from api/records.json
    put: int
    """Jobs put."""
    duplicates: int
    """Jobs that were not put because a job of their id was there."""
    full: int
    """Requests to put jobs that were refused because the queue was full."""
    taken: int
    """Jobs delivered to a caller."""
    contended: int
    """Of these, the ones that the caller had to wait for."""
    wait_timeouts: int
    """Takes that brought no job within their wait."""
    cancelled: int
    """Takes whose caller gave up while it waited."""
    acked: int
    """Deliveries that were acknowledged."""
    nacked: int
    """Deliveries that were put back, the ones that were let go included."""
    dead: int
    """Of these, the ones whose job was delivered as often as it may be, and is dead."""
    removed: int
    """Jobs that were cancelled, purged, or removed from the dead ones."""
    renewals: int
    """Leases prolonged by the watchdog, one for each delivery and time."""
    renewal_failures: int
    """Renewals that got no answer or a passing error, and were tried again while the lease lasted."""
    lost: int
    """Deliveries that were lost, and come again."""
    waiting: int
    """Callers that wait now."""
    held: int
    """Deliveries that are looked after now."""
    wait_time: Histogram
    """From the call of a take to its delivery, waited or not: as many as `taken`."""
    hold_time: Histogram
    """From a delivery to the beginning of its end by its worker."""
    # </api:queue-stats>


@dataclass(frozen=True, slots=True)
class Stats:
    """What a client has counted since it was opened: what is its own, and a block for each kind of object."""

    # <api:stats> written by `python3 api/write.py` from api/records.json
    retries: int
    """Requests sent again because no answer came."""
    lock: LockStats
    """What its locks have counted."""
    limiter: LimiterStats
    """What its rate limiters have counted."""
    semaphore: SemaphoreStats
    """What its semaphores have counted."""
    rw_lock: RwLockStats
    """What its read-write locks have counted."""
    counting_semaphore: CountingSemaphoreStats
    """What its counting semaphores have counted."""
    latch: LatchStats
    """What its latches have counted."""
    worker: WorkerStats
    """What its worker numbers have counted."""
    queue: QueueStats
    """What its queues have counted."""
    # </api:stats>

    @classmethod
    def _of(cls, client: int) -> Stats:
        counts, histograms = _native.client_stats(client)
        return cls._from(counts, [_histogram(each) for each in histograms])

    @classmethod
    def _from(cls, counts: list[Any], times: list[Any]) -> Stats:
        # <api:stats-of> written by `python3 api/write.py` from api/records.json
        return cls(
            counts[0],
            LockStats(*counts[1:13], *times[0:2]),
            LimiterStats(*counts[13:18], *times[2:3]),
            SemaphoreStats(*counts[18:30], *times[3:5]),
            RwLockStats(*counts[30:42], *times[5:7]),
            CountingSemaphoreStats(*counts[42:48], *times[7:8]),
            LatchStats(*counts[48:53], *times[8:9]),
            WorkerStats(*counts[53:60], *times[9:11]),
            QueueStats(*counts[60:76], *times[11:13]),
        )
        # </api:stats-of>


def _histogram(times: tuple[int, float, float, float, float, float, list[int]]) -> Histogram:
    count, total, mean, p50, p99, longest, buckets = times
    return Histogram(count, total, mean, p50, p99, longest, tuple(buckets))
