"""What a holder has in hand: the fencing token, the lease's remaining time, and the signal that it was lost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from . import _native
from ._convert import FOR_EVER, Seconds, milliseconds

if TYPE_CHECKING:
    from ._lock import Lock


class Lost:
    """Set once a hold is lost: read like a `threading.Event` that only libdlock sets.

    It is set before the server can grant the name to somebody else, also while the server cannot be reached. Only a removed
    key or a jump of the server's clock or data is noticed later: at the next renewal, a third of the lease at most.
    """

    def __init__(self, grant: _native.Grant) -> None:
        self._grant = grant  # kept: with it goes the handle

    def is_set(self) -> bool:
        """Whether the hold was lost. No I/O."""
        return self.reason is not None

    def wait(self, timeout: Seconds | None = None) -> bool:
        """Blocks until the hold is lost or released, `timeout` seconds at most; says whether it was lost.

        Ctrl-C breaks it.
        """
        ms = FOR_EVER if timeout is None else milliseconds(timeout, "timeout", op="lost")
        return _native.held_wait_lost(self._grant.handle, ms) is not None

    @property
    def reason(self) -> str | None:
        """Why it was lost (`"expired"`, `"taken"`, `"deleted"`, `"server_changed"`, `"closed"`), or `None`."""
        return _native.held_loss(self._grant.handle)

    def __repr__(self) -> str:
        return f"<libdlock.Lost reason={self.reason!r}>"


class Held:
    """One acquisition of a lock. What `with lock as held` gives, and `Lock.held` after an `acquire`.

    Reading it costs no I/O. It may be read from any thread; `extend` and `release` are the holding thread's alone.
    """

    def __init__(self, lock: Lock, grant: _native.Grant) -> None:
        self._lock = lock
        self._grant = grant
        self._lost = Lost(grant)

    @property
    def token(self) -> int:
        """The fencing token: larger than that of any earlier acquisition of this name, below 2**53."""
        return self._grant.token

    @property
    def owner(self) -> str:
        """The owner as the server knows it: `<client uuid>:<n>`."""
        return self._grant.owner

    @property
    def valid(self) -> bool:
        """Whether the lock is still held for certain, on this machine's monotonic clock."""
        return _native.held_valid(self._grant.handle)

    @property
    def remaining(self) -> float:
        """Seconds for which the hold stays valid without another renewal; 0.0 when it is over."""
        return _native.held_remaining(self._grant.handle)

    @property
    def lost(self) -> Lost:
        """The signal that the hold was lost."""
        return self._lost

    def extend(self, lease: Seconds) -> None:
        """As `Lock.extend`."""
        self._lock.extend(lease)

    def release(self) -> None:
        """As `Lock.release`: one level, by the holding thread."""
        self._lock.release()

    def __repr__(self) -> str:
        return f"<libdlock.Held {self._lock.name!r} token={self.token}>"


@dataclass(frozen=True, slots=True)
class Inspection:
    """What the server said about a lock at one instant; it may have changed since."""

    holder: str | None
    """The owner, `<client uuid>:<n>`, or `None` when the lock is free."""
    ours: bool
    """Whether the owner is this client, in any of its threads."""
    ttl: float | None
    """Seconds left of the lease. `None` with a holder: a foreign key that never expires."""
    token: int | None
    """The last fencing token given for this name, or `None` when none is known."""
