"""The exceptions: one class for each kind of the core, each also the built-in exception that a Python user would catch.

Numbers and kinds are frozen; `tests/vectors/errors.json` in the repository is their source and the tests compare.
"""

from __future__ import annotations

from typing import ClassVar


class DlockError(Exception):
    """Base of everything libdlock raises on purpose.

    `code` is the frozen number of the kind (1 for busy, negative for errors), `kind` its name, `op` the operation that
    failed, `name` the key on the server (with the client's prefix) where one was involved. `str(error)` says what happened
    and what was allowed, and never holds a password.
    """

    code: ClassVar[int] = -16
    kind: ClassVar[str] = "INTERNAL"
    op: str
    name: str | None

    def __init__(self, message: str = "", *, op: str = "", name: str | None = None) -> None:
        super().__init__(message)
        self.op = op
        self.name = name


class AcquireTimeout(DlockError, TimeoutError):
    """The lock was not got within the wait. Raised by `with`; `Lock.acquire` returns `False` instead."""

    code = 1
    kind = "BUSY"


class InvalidArgument(DlockError, ValueError):
    """A value that libdlock refuses before any I/O: a duration out of range, an unknown option, a bad URL."""

    code = -1
    kind = "INVALID_ARGUMENT"


class InvalidName(DlockError, ValueError):
    """A name that is empty, too long, not UTF-8, holds NUL, or whose keys would not share a cluster slot."""

    code = -2
    kind = "INVALID_NAME"


class NotHeld(DlockError, RuntimeError):
    """Release or extend by a thread that does not hold the lock (any more)."""

    code = -3
    kind = "NOT_HELD"


class LockLost(DlockError):
    """The lease ran out, or the lock was taken away, while it was held."""

    code = -4
    kind = "LOST"


class Deadlock(DlockError, RuntimeError):
    """A second acquire by the holder of a lock with `reentrant=False`."""

    code = -5
    kind = "DEADLOCK"


class ConnectionFailed(DlockError, ConnectionError):
    """The server could not be reached, or refused the connection or the password."""

    code = -6
    kind = "CONNECTION"


class OutcomeUnknown(DlockError, TimeoutError):
    """The request may or may not have been carried out: its reply was lost."""

    code = -7
    kind = "OUTCOME_UNKNOWN"


class ServerError(DlockError):
    """The server answered with an error that has no kind of its own."""

    code = -8
    kind = "SERVER"


class WrongType(DlockError, TypeError):
    """The key of that name holds something that is not a lock; it was left untouched."""

    code = -9
    kind = "WRONG_TYPE"


class OutOfMemory(DlockError, MemoryError):
    """The server is at its memory limit and refused to write."""

    code = -10
    kind = "OUT_OF_MEMORY"


class NoPermission(DlockError, PermissionError):
    """The server's ACL forbids what the operation needs."""

    code = -11
    kind = "NO_PERMISSION"


class Cancelled(DlockError):
    """The operation was cancelled by its caller."""

    code = -12
    kind = "CANCELLED"


class Closed(DlockError):
    """The client was closed, before the call or during it."""

    code = -13
    kind = "CLOSED"


class Forked(DlockError, RuntimeError):
    """An object from before a fork was used in the child. Connect again there."""

    code = -14
    kind = "FORKED"


class ClockError(DlockError):
    """A clock did something that libdlock cannot make up for."""

    code = -15
    kind = "CLOCK"


class InternalError(DlockError):
    """A defect in libdlock. Please report it."""

    code = -16
    kind = "INTERNAL"


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
    )
}


def from_native(code: int, op: str, name: str | None, message: str) -> DlockError:
    """The exception for an error of the core. The native module calls this."""
    return _BY_CODE.get(code, InternalError)(message, op=op, name=name)
