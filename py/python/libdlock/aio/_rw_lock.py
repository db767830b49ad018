"""The read-write lock, with the methods of `libdlock.RwLock` as coroutines."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn, cast

from .. import _native
from .._sides import NamedRwLock, NamedSide, RwLockInspection
from ._held import Held
from ._holder import running_holder
from ._owned import OwnedHold
from ._port import running_port
from ._reentrant import Reentrant


class RwHeld(Held):
    """One acquisition of a side of a read-write lock. What `async with lock.write as held` gives."""

    __slots__ = ()

    _label = "libdlock.aio.RwHeld"

    async def downgrade(self) -> RwHeld:
        """Turns this hold of the write side into one of the read side, which it returns. Nobody else writes in between.

        The readers that wait are woken. The end of an `async with lock.write` block then ends the read side. By the holding
        task alone, and one level. `InvalidArgument` for a hold of the read side; `NotHeld` or `LockLost` when it is over;
        `ConnectionFailed` and its kin when the server cannot be asked: then it writes as before, or holds neither side.

        A task that is cancelled while it waits writes as before, or holds neither side.
        """
        return await cast(RwLockSide, self._lock)._downgrade(self._grant.number)


class OwnedRwHold(OwnedHold):
    """One acquisition of a side of a read-write lock that belongs to this object, made by `take`."""

    _label = "libdlock.aio.OwnedRwHold"

    async def downgrade(self) -> OwnedRwHold:
        """As `RwHeld.downgrade`, by any task. This object is spent: what it returns is to be released."""
        grant = await running_port().call(_native.submit_held_downgrade, self._grant.handle)
        self._ended = True
        return OwnedRwHold(cast(RwLockSide, self._lock)._reads, grant)


class RwLockSide(Reentrant[RwHeld, OwnedRwHold], NamedSide):
    """One side of a read-write lock, used as a `Lock` is.

    The holder is the *task*. One that writes may read as well; one that reads and wants to write gets `Deadlock` at once,
    for it would wait for itself. When the holding task ends, renewal stops, and the lease runs out. A task that is cancelled
    while it waits here holds nothing that it did not hold before.
    """

    _label = "libdlock.aio.RwLockSide"
    _held_class = RwHeld
    _owned_class = OwnedRwHold
    _native_hold_count = _native.rw_lock_hold_count
    _submit_acquire = _native.submit_rw_lock_acquire
    _submit_release = _native.submit_rw_lock_release
    _submit_take = _native.submit_rw_lock_take
    _submit_extend = _native.submit_rw_lock_extend

    async def downgrade(self) -> RwHeld:
        """As `RwHeld.downgrade`, of what this task holds of the write side."""
        return await self._downgrade(None)

    async def _downgrade(self, number: int | None) -> RwHeld:
        holder = running_holder()
        submit = _native.submit_rw_lock_downgrade
        grant = await running_port().call(submit, self._handle, holder.id, number)
        holder.left(self)
        holder.entered(self._reads)
        block = holder.innermost_block(self)
        if block is None:
            self._downgrade_scope(holder.id, self._reads, grant)
        else:
            block.goes_on_as(self._reads, grant)
        return RwHeld(self._reads, grant)


class RwLock(NamedRwLock[RwLockSide]):
    """A read-write lock of one name, made by `Client.rw_lock`: many readers or one writer.

    It is served in the order of arrival: readers that stand next to one another are admitted together, and a reader that
    comes while a writer waits stands behind it. May be shared between tasks, also of several loops, and kept for as long as
    the client.

        prices = client.rw_lock("prices")
        async with prices.read:
            await look()
        async with prices.write as held:
            await change(held.token)
    """

    _label = "libdlock.aio.RwLock"
    _side_class = RwLockSide

    async def inspect(self) -> RwLockInspection:
        """Who writes or how many read, for how long, and the last token, as the server says now."""
        seen = await running_port().call(_native.submit_rw_lock_inspect, self._read._handle)
        return RwLockInspection(*seen)

    async def force_release(self) -> bool:
        """Ends every hold of both sides, whoever has it; says whether anybody had one.

        Holds of this client are lost when this returns; other clients are sent a message and look at once; until then
        only their fencing tokens protect the resource.

        When the task is cancelled while it waits, they may have ended or not.
        """
        freed: bool = await running_port().call(_native.submit_rw_lock_force_release, self._read._handle)
        return freed

    if not TYPE_CHECKING:  # with these a type checker would take `async with lock:`

        async def __aenter__(self) -> NoReturn:
            self._no_scope("async with")

        async def __aexit__(self, kind: object, error: object, traceback: object) -> None: ...
