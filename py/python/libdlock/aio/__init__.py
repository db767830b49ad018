"""libdlock for asyncio: the names and signatures of `libdlock`, with coroutines where that blocks. The holder is the task.

async with libdlock.aio.connect("redis://127.0.0.1:6379/0") as client:
    async with client.lock("report", lease=30, wait=2) as held:
        await write_report(fence=held.token)
"""

from .._decision import Decision
from .._errors import (
    AcquireTimeout,
    Cancelled,
    ClockError,
    Closed,
    ConnectionFailed,
    Deadlock,
    DlockError,
    Forked,
    InternalError,
    InvalidArgument,
    InvalidName,
    LockLost,
    NoPermission,
    NotHeld,
    OutcomeUnknown,
    OutOfMemory,
    ServerError,
    WrongType,
)
from .._hold import Inspection
from .._native import __version__
from .._snowflake import Layout, Parts, Snowflake
from .._stats import Histogram, Stats
from ._client import Client, Connecting, connect
from ._held import Held, Lost
from ._limiter import RateLimiter
from ._lock import Lock

__all__ = [
    "AcquireTimeout",
    "Cancelled",
    "Client",
    "ClockError",
    "Closed",
    "Connecting",
    "ConnectionFailed",
    "Deadlock",
    "Decision",
    "DlockError",
    "Forked",
    "Held",
    "Histogram",
    "Inspection",
    "InternalError",
    "InvalidArgument",
    "InvalidName",
    "Layout",
    "Lock",
    "LockLost",
    "Lost",
    "NoPermission",
    "NotHeld",
    "OutOfMemory",
    "OutcomeUnknown",
    "Parts",
    "RateLimiter",
    "ServerError",
    "Snowflake",
    "Stats",
    "WrongType",
    "__version__",
    "connect",
]
