"""Distributed locks on Redis or Valkey, with `threading.RLock`'s meaning and fencing tokens.

with libdlock.connect("redis://127.0.0.1:6379/0") as client:
    with client.lock("report", lease=30, wait=2) as held:
        write_report(fence=held.token)
"""

# <api:exports> written by `python3 api/write.py` from api/primitives.json, api/errors.json and api/records.json
from ._bloom_filter import BloomFilter
from ._client import Client, connect
from ._consumer import Consumer
from ._counting import CountingSemaphoreInspection
from ._counting_semaphore import CountingSemaphore
from ._decision import Decision, Undecided
from ._delivery import Delivery
from ._errors import (
    AcquireTimeout,
    Cancelled,
    ClockError,
    Closed,
    ConnectionFailed,
    Deadlock,
    DlockError,
    Forked,
    HoldEnded,
    InternalError,
    InvalidArgument,
    InvalidName,
    LockLost,
    NoPermission,
    NotHeld,
    OutcomeUnknown,
    OutOfMemory,
    QueueFull,
    ServerError,
    Unavailable,
    Unsupported,
    UsageError,
    WrongType,
)
from ._held import Held, Lost
from ._hold import Inspection
from ._id_generator import IdGenerator
from ._jobs import Backoff, ListedJob, NewJob, Put, QueueCounts
from ._latch import Latch
from ._limited import RateLimited
from ._limiter import RateLimiter
from ._lock import Lock
from ._lock_all import HeldAll, LockAll, OwnedHoldAll
from ._native import __version__
from ._options import LockDefaults
from ._owned import OwnedHold
from ._permits import SemaphoreInspection
from ._queue import DeadJobs, Queue
from ._rate import Rate
from ._rw_lock import OwnedRwHold, RwHeld, RwLock, RwLockSide
from ._semaphore import Semaphore
from ._sides import RwLockInspection
from ._snowflake import Layout, Parts, Snowflake
from ._stats import (
    CountingSemaphoreStats,
    Histogram,
    LatchStats,
    LimiterStats,
    LockStats,
    QueueStats,
    RwLockStats,
    SemaphoreStats,
    Stats,
    WorkerStats,
)
from ._worker import Worker

# </api:exports>

# <api:all> written by `python3 api/write.py` from the imports
__all__ = [
    "AcquireTimeout",
    "Backoff",
    "BloomFilter",
    "Cancelled",
    "Client",
    "ClockError",
    "Closed",
    "ConnectionFailed",
    "Consumer",
    "CountingSemaphore",
    "CountingSemaphoreInspection",
    "CountingSemaphoreStats",
    "DeadJobs",
    "Deadlock",
    "Decision",
    "Delivery",
    "DlockError",
    "Forked",
    "Held",
    "HeldAll",
    "Histogram",
    "HoldEnded",
    "IdGenerator",
    "Inspection",
    "InternalError",
    "InvalidArgument",
    "InvalidName",
    "Latch",
    "LatchStats",
    "Layout",
    "LimiterStats",
    "ListedJob",
    "Lock",
    "LockAll",
    "LockDefaults",
    "LockLost",
    "LockStats",
    "Lost",
    "NewJob",
    "NoPermission",
    "NotHeld",
    "OutOfMemory",
    "OutcomeUnknown",
    "OwnedHold",
    "OwnedHoldAll",
    "OwnedRwHold",
    "Parts",
    "Put",
    "Queue",
    "QueueCounts",
    "QueueFull",
    "QueueStats",
    "Rate",
    "RateLimited",
    "RateLimiter",
    "RwHeld",
    "RwLock",
    "RwLockInspection",
    "RwLockSide",
    "RwLockStats",
    "Semaphore",
    "SemaphoreInspection",
    "SemaphoreStats",
    "ServerError",
    "Snowflake",
    "Stats",
    "Unavailable",
    "Undecided",
    "Unsupported",
    "UsageError",
    "Worker",
    "WorkerStats",
    "WrongType",
    "__version__",
    "connect",
]
# </api:all>
