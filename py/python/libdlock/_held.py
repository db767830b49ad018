"""What a thread that holds has in hand: the fencing token, the lease's remaining time, and the signal that it was lost."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import _native
from ._convert import Seconds, optional_ms
from ._hold import HoldView, LossView

if TYPE_CHECKING:
    from ._lock import Lock


class Lost(LossView):
    """Set once a hold is lost: read like a `threading.Event` that only libdlock sets.

    It is set before the server can grant the name to somebody else, also while the server cannot be reached. Only a removed
    key or a jump of the server's clock or data is noticed later: at the next renewal, a third of the lease at most.
    """

    _label = "libdlock.Lost"

    def wait(self, timeout: Seconds | None = None) -> bool:
        """Blocks until the hold is lost or released, `timeout` seconds at most; says whether it was lost.

        Ctrl-C breaks it.
        """
        return (
            _native.held_wait_lost(self._grant.handle, optional_ms(timeout, "timeout", op="lost")) is not None
        )


class Held(HoldView):
    """One acquisition of a lock. What `with lock as held` gives, and `Lock.held` after an `acquire`.

    Reading it costs no I/O. It may be read from any thread; `extend` and `release` are the holding thread's alone.
    """

    __slots__ = ("_lock", "_lost")

    _label = "libdlock.Held"
    _lost: Lost | None

    def __init__(self, lock: Lock, grant: _native.Grant) -> None:
        self._name = lock._name
        self._grant = grant
        self._lock = lock
        self._lost = None

    @property
    def lost(self) -> Lost:
        """The signal that the hold was lost."""
        if self._lost is None:  # few look at it
            self._lost = Lost(self._grant)
        return self._lost

    def extend(self, lease: Seconds) -> None:
        """As `Lock.extend`."""
        self._lock.extend(lease)

    def release(self) -> None:
        """As `Lock.release`: one level, by the holding thread."""
        self._lock.release()
