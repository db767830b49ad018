"""What a thread that holds has in hand: the fencing token, the lease's remaining time, and the signal that it was lost."""

from __future__ import annotations

from typing import Protocol

from . import _native
from ._convert import Seconds, optional_ms
from ._greenlets import ask
from ._hold import HoldView, LossView


class HeldObject(Protocol):
    """What a hold needs of its lock or semaphore. A number says which of its holder's holds is meant."""

    _name: str

    def _extend(self, lease: Seconds, number: int | None) -> None: ...

    def _release(self, number: int | None) -> None: ...


class Lost(LossView):
    """Set once a hold is lost: read like a `threading.Event` that only libdlock sets.

    It is set before the server can grant the name to somebody else, also while the server cannot be reached. Only a removed
    key or a jump of the server's clock or data is noticed later: at the next renewal, a third of the lease at most, or when
    a fixed lease ends, which is not renewed. A forced release is noticed at once.
    """

    _label = "libdlock.Lost"

    def wait(self, timeout: Seconds | None = None) -> bool:
        """Blocks until the hold is lost or released, `timeout` seconds at most; says whether it was lost.

        Ctrl-C breaks it.
        """
        ms = optional_ms(timeout, "timeout", op="lost")
        return ask(_native.held_wait_lost, _native.submit_held_wait_lost, self._grant.handle, ms) is not None


class Held(HoldView):
    """One acquisition of a lock or semaphore. What `with lock as held` gives, and `Lock.held` after an `acquire`.

    Reading it costs no I/O. It may be read from any thread; `extend` and `release` are the holding thread's alone.
    """

    __slots__ = ("__weakref__", "_grant", "_lock", "_lost", "_name")

    _label = "libdlock.Held"
    _lost: Lost | None

    def __init__(self, lock: HeldObject, grant: _native.Grant) -> None:
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
        """As `extend` of the lock or semaphore, of this hold."""
        self._lock._extend(lease, self._grant.number)

    def release(self) -> None:
        """Ends this hold, of a lock one level, by the holding thread. Never a later hold of that thread."""
        self._lock._release(self._grant.number)
