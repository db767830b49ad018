"""What is known of a hold without asking anybody: the same for threads and for tasks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from . import _native
from ._shown import shown


def is_going_on(grant: _native.Grant) -> bool:
    """Whether it is still held and nothing was said of a loss, which comes a little before the end."""
    return _native.held_valid(grant.handle) and _native.held_loss(grant.handle) is None


class LossView:
    """Whether and why a hold was lost."""

    _label: ClassVar[str]

    def __init__(self, grant: _native.Grant) -> None:
        self._grant = grant  # kept: with it goes the handle

    def is_set(self) -> bool:
        """Whether the hold was lost. No I/O."""
        return self.reason is not None

    @property
    def reason(self) -> str | None:
        """Why it was lost, or `None`: `"expired"`, `"taken"`, `"deleted"`, `"server_changed"`, `"closed"`, `"internal"`."""
        return _native.held_loss(self._grant.handle)

    @shown
    def __repr__(self) -> str:
        return f"<{self._label} reason={self.reason!r}>"


class HoldView:
    """Token or permits, and time left, of one acquisition. Reading it costs no I/O."""

    __slots__ = ()

    _label: ClassVar[str]
    _name: str
    _grant: _native.Grant

    @property
    def token(self) -> int:
        """The fencing token: larger than that of any earlier acquisition of this name, below 2**53.

        0 for permits of a semaphore, which have none, and for several locks, which have `tokens`: it is lower than any token
        of a lock.
        """
        return self._grant.token

    @property
    def permits(self) -> list[str]:
        """The ids of the permits of a semaphore, each 32 hexadecimal digits; of a lock none."""
        return _native.held_permits(self._grant.handle)

    @property
    def owner(self) -> str:
        """The owner as the server knows it: `<client uuid>:<n>`; of permits `/<permits>` follows. Of several locks empty."""
        return self._grant.owner

    @property
    def valid(self) -> bool:
        """Whether it is still held for certain, on this machine's monotonic clock."""
        return _native.held_valid(self._grant.handle)

    @property
    def remaining(self) -> float:
        """Seconds for which the hold stays valid without another renewal; 0.0 when it is over."""
        return _native.held_remaining(self._grant.handle)

    @shown
    def __repr__(self) -> str:
        return described(self._label, self._name, self._grant)


def described(label: str, name: str, grant: _native.Grant) -> str:
    """A hold for people: by its token, or its tokens, or if it has none by the number of its permits."""
    if grant.token:
        what = f"token={grant.token}"
    elif tokens := _native.held_tokens(grant.handle):
        what = f"tokens={[token for _, token in tokens]}"
    else:
        what = f"permits={len(_native.held_permits(grant.handle))}"
    return f"<{label} {name!r} {what}>"


@dataclass(frozen=True, slots=True)
class Inspection:
    """What the server said about a lock at one instant; it may have changed since. Durations are in seconds."""

    # <api:inspection> written by `python3 api/write.py` from api/records.json
    holder: str | None
    """The owner, `<client uuid>:<n>` (Redisson's or ours); `None` when the lock is free."""
    ours: bool
    """Whether the owner is this client."""
    ttl: float | None
    """What is left of the lease; `None` when the lock is free, and for a foreign key that never expires."""
    token: int | None
    """The last fencing token reserved for this name, as long as the server remembers it; the holder's may be lower."""
    queued: int
    """How many processes stand in the queue."""
    # </api:inspection>
