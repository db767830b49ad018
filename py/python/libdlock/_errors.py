"""The exceptions: one class for each kind of the core, each also the built-in exception that a Python user would catch.

Numbers and kinds are frozen; `api/errors.json` in the repository is their source and the tests compare.
"""

from __future__ import annotations

from typing import ClassVar


class DlockError(Exception):
    """Base of everything libdlock raises on purpose.

    `code` is the frozen number of the kind (1 for busy, negative for errors), `kind` its name, `op` the operation that
    failed, `name` the key on the server (with the client's prefix) where one was involved. `str(error)` says what happened
    and what was allowed, and never holds a password. What a program can act on stands in `holder`, `remaining`,
    `retry_after`, `allowed` and `retryable`. `UsageError`, `Unavailable` and `HoldEnded` catch kinds that a program handles
    alike.
    """

    code: ClassVar[int] = -16
    kind: ClassVar[str] = "INTERNAL"
    op: str
    name: str | None
    # <api:facts> written by `python3 api/write.py` from api/errors.json
    holder: str | None
    """The owner in the way, as it stands on the server; of a busy error, where the server named one."""
    remaining: float | None
    """How much of that holder's lease was left when it was seen; the holder may renew it; in seconds."""
    retry_after: float | None
    """After how long asking again can succeed, at the soonest: of a clock error, until the clock is no longer
    behind; a limiter's refusal is no error but a decision, which says it; in seconds.
    """
    allowed: str | None
    """What is allowed in place of the value that was refused, such as `100 ms to 24 h`."""
    retryable: bool
    """Whether the same call, made again later, can succeed although the program changes nothing: of a connection
    error, where the server cannot be reached, but not with a wrong password; after an unknown outcome it may find that
    the first call was carried out.
    """
    # </api:facts>

    def __init__(
        self,
        message: str = "",
        *,
        op: str = "",
        name: str | None = None,
        holder: str | None = None,
        remaining: float | None = None,
        retry_after: float | None = None,
        allowed: str | None = None,
        retryable: bool = False,
    ) -> None:
        super().__init__(message)
        self.op = op
        self.name = name
        self.holder = holder
        self.remaining = remaining
        self.retry_after = retry_after
        self.allowed = allowed
        self.retryable = retryable


# <api:errors> written by `python3 api/write.py` from api/errors.json


class UsageError(DlockError):
    """The program asks for something that cannot be; it has to be changed."""


class Unavailable(DlockError):
    """The server, or the way to it, does not do what was asked."""


class HoldEnded(DlockError):
    """The caller does not hold what it acts on, or not any more."""


class AcquireTimeout(DlockError, TimeoutError):
    """`with` did not get it within `wait`; `acquire` returns `False` instead."""

    code = 1
    kind = "BUSY"


class InvalidArgument(UsageError, ValueError):
    """A value was refused before any I/O; the message says which, and what is allowed."""

    code = -1
    kind = "INVALID_ARGUMENT"


class InvalidName(UsageError, ValueError):
    """A name was refused before any I/O: empty, longer than 512 bytes, not UTF-8, with a NUL, with braces that are
    no cluster's hash tag, or the name of a companion key such as `dlock_seen:{a}`.
    """

    code = -2
    kind = "INVALID_NAME"


class NotHeld(HoldEnded, RuntimeError):
    """Release or extend by a caller that does not hold it, or not any more."""

    code = -3
    kind = "NOT_HELD"


class LockLost(HoldEnded):
    """What was held was lost: its lease ran out, or it was taken away."""

    code = -4
    kind = "LOST"


class Deadlock(UsageError, RuntimeError):
    """The holder would wait for itself: it acquires again what is not re-entrant, or it reads and wants to write."""

    code = -5
    kind = "DEADLOCK"


class ConnectionFailed(Unavailable, ConnectionError):
    """The server cannot be reached or did not answer in time, or refuses the connection or the password; what was
    asked for was not done there, or is undone.
    """

    code = -6
    kind = "CONNECTION"


class OutcomeUnknown(Unavailable, TimeoutError):
    """The request was sent and no reply came: it may or may not have been carried out."""

    code = -7
    kind = "OUTCOME_UNKNOWN"


class ServerError(Unavailable):
    """The server answered with an error that has no kind of its own."""

    code = -8
    kind = "SERVER"


class WrongType(UsageError, TypeError):
    """The key holds something else; it was left untouched."""

    code = -9
    kind = "WRONG_TYPE"


class OutOfMemory(Unavailable, MemoryError):
    """The server is at its memory limit and refused to write."""

    code = -10
    kind = "OUT_OF_MEMORY"


class NoPermission(Unavailable, PermissionError):
    """The server's access list forbids the command, key or channel; the message names the missing rule."""

    code = -11
    kind = "NO_PERMISSION"


class Cancelled(DlockError):
    """The caller cancelled the operation."""

    code = -12
    kind = "CANCELLED"


class Closed(DlockError):
    """The client was closed, before the call or during it."""

    code = -13
    kind = "CLOSED"


class Forked(UsageError, RuntimeError):
    """An object from before a fork was used in the child; connect again there."""

    code = -14
    kind = "FORKED"


class ClockError(DlockError):
    """A clock is behind or jumps by more than the call waits for, or is past the end of a layout's time."""

    code = -15
    kind = "CLOCK"


class InternalError(DlockError):
    """A defect in libdlock; please report it."""

    code = -16
    kind = "INTERNAL"


class Unsupported(UsageError, NotImplementedError):
    """This server, or this version of libdlock, cannot do it; the message says what can."""

    code = -17
    kind = "UNSUPPORTED"


class QueueFull(Unavailable):
    """The queue holds as many jobs as it may; nothing was put."""

    code = -18
    kind = "FULL"


_BY_CODE: dict[int, type[DlockError]] = {
    cls.code: cls
    for cls in (
        AcquireTimeout,
        InvalidArgument,
        InvalidName,
        NotHeld,
        LockLost,
        Deadlock,
        ConnectionFailed,
        OutcomeUnknown,
        ServerError,
        WrongType,
        OutOfMemory,
        NoPermission,
        Cancelled,
        Closed,
        Forked,
        ClockError,
        InternalError,
        Unsupported,
        QueueFull,
    )
}
# </api:errors>


def from_native(
    code: int,
    op: str,
    name: str | None,
    message: str,
    holder: str | None,
    remaining: float | None,
    retry_after: float | None,
    allowed: str | None,
    retryable: bool,
) -> DlockError:
    """The exception for an error of the core. The native module calls this."""
    cls = _BY_CODE.get(code, InternalError)
    return cls(
        message,
        op=op,
        name=name,
        holder=holder,
        remaining=remaining,
        retry_after=retry_after,
        allowed=allowed,
        retryable=retryable,
    )


def refused(what: str, allowed: str, *, op: str, name: str | None = None) -> InvalidArgument:
    """A value that the package refuses by itself, and what is allowed in its place."""
    return InvalidArgument(f"{what}; allowed: {allowed}", op=op, name=name, allowed=allowed)
