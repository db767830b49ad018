"""What a task that holds has in hand: the fencing token, the lease's remaining time, and the signal that it was lost."""

from __future__ import annotations

from typing import Protocol

from .. import _native
from .._convert import Seconds, optional_ms
from .._hold import HoldView, LossView
from ._port import running_port


class HeldObject(Protocol):
    """What a hold needs of its lock or semaphore. A number says which of its holder's holds is meant."""

    _name: str

    async def _extend(self, lease: Seconds, number: int | None) -> None: ...

    async def _release(self, number: int | None) -> None: ...


class Lost(LossView):
    """Set once a hold is lost: read like an `asyncio.Event` that only libdlock sets.

    It is set before the server can grant the name to somebody else, also while the server cannot be reached. Only a removed
    key or a jump of the server's clock or data is noticed later: at the next renewal, a third of the lease at most, or when
    a fixed lease ends, which is not renewed. A forced release is noticed at once.
    """

    _label = "libdlock.aio.Lost"

    async def wait(self, timeout: Seconds | None = None) -> bool:
        """Waits until the hold is lost or released, `timeout` seconds at most; says whether it was lost."""
        ms = optional_ms(timeout, "timeout", op="lost")
        lost = await running_port().call(_native.submit_held_wait_lost, self._grant.handle, ms)
        return lost is not None


class Held(HoldView):
    """One acquisition of a lock or semaphore. What `async with lock as held` gives, and `Lock.held` after an
    `acquire`.

    Reading it costs no I/O. It may be read from anywhere; `extend` and `release` are the holding task's alone.
    """

    __slots__ = ("__weakref__", "_grant", "_lock", "_lost", "_name")

    _label = "libdlock.aio.Held"
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

    async def extend(self, lease: Seconds) -> None:
        """As `extend` of the lock or semaphore, of this hold."""
        await self._lock._extend(lease, self._grant.number)

    async def release(self) -> None:
        """Ends this hold, of a lock one level, by the holding task. Never a later hold of that task."""
        await self._lock._release(self._grant.number)
