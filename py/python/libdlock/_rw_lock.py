"""The read-write lock: two sides, each with the meaning that `threading.RLock` gives to its methods."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn, cast

from . import _native
from ._greenlets import ask, running
from ._held import Held
from ._owned import OwnedHold
from ._reentrant import Reentrant
from ._sides import NamedRwLock, NamedSide, RwLockInspection


class RwHeld(Held):
    """One acquisition of a side of a read-write lock. What `with lock.write as held` gives."""

    __slots__ = ()

    _label = "libdlock.RwHeld"

    def downgrade(self) -> RwHeld:
        """Turns this hold of the write side into one of the read side, which it returns. Nobody else writes in between.

        The readers that wait are woken. The end of a `with lock.write` block then ends the read side. By the holding thread
        alone, and one level. `InvalidArgument` for a hold of the read side; `NotHeld` or `LockLost` when it is over;
        `ConnectionFailed` and its kin when the server cannot be asked: then it writes as before, or holds neither side.
        """
        return cast(RwLockSide, self._lock)._downgrade(self._grant.number)


class OwnedRwHold(OwnedHold):
    """One acquisition of a side of a read-write lock that belongs to this object, made by `take`."""

    _label = "libdlock.OwnedRwHold"

    def downgrade(self) -> OwnedRwHold:
        """As `RwHeld.downgrade`, by any thread. This object is spent: what it returns is to be released."""
        got: list[_native.Grant] = []
        try:
            caller = running()
            if caller is None:
                _native.held_downgrade(got, self._grant.handle)
            else:
                got.append(caller.port.call(_native.submit_held_downgrade, self._grant.handle))
            self._end()
            return OwnedRwHold(cast(RwLockSide, self._lock)._reads, got[0])
        except BaseException:  # Ctrl-C may come after the grant and before the caller has it
            for grant in got:
                grant.undo()
            raise


class RwLockSide(Reentrant[RwHeld, OwnedRwHold], NamedSide):
    """One side of a read-write lock, used as a `Lock` is.

    The holder is the *thread*, under gevent the *greenlet*. One that writes may read as well; one that reads and wants to
    write gets `Deadlock` at once, for it would wait for itself. When the holder ends, renewal stops, and the lease runs out.
    """

    _label = "libdlock.RwLockSide"
    _held_class = RwHeld
    _owned_class = OwnedRwHold
    _native_acquire = _native.rw_lock_acquire
    _native_release = _native.rw_lock_release
    _native_take = _native.rw_lock_take
    _native_extend = _native.rw_lock_extend
    _native_hold_count = _native.rw_lock_hold_count
    _submit_acquire = _native.submit_rw_lock_acquire
    _submit_release = _native.submit_rw_lock_release
    _submit_take = _native.submit_rw_lock_take
    _submit_extend = _native.submit_rw_lock_extend

    def downgrade(self) -> RwHeld:
        """As `RwHeld.downgrade`, of what this thread holds of the write side."""
        return self._downgrade(None)

    def _downgrade(self, number: int | None) -> RwHeld:
        got: list[_native.Grant] = []
        caller = running()
        if caller is None:
            _native.rw_lock_downgrade(got, self, self._reads, number)
        else:
            submit = _native.submit_rw_lock_downgrade
            got.append(caller.port.call(submit, self._handle, caller.id, number))
            caller.left(self)
            caller.entered(self._reads)
            self._downgrade_scope(caller.id, self._reads, got[0])
        return RwHeld(self._reads, got[0])


class RwLock(NamedRwLock[RwLockSide]):
    """A read-write lock of one name, made by `Client.rw_lock`: many readers or one writer.

    It is served in the order of arrival: readers that stand next to one another are admitted together, and a reader that
    comes while a writer waits stands behind it. May be shared between threads and kept for as long as the client.

        prices = client.rw_lock("prices")
        with prices.read:
            look()
        with prices.write as held:
            change(held.token)
    """

    _label = "libdlock.RwLock"
    _side_class = RwLockSide

    def inspect(self) -> RwLockInspection:
        """Who writes or how many read, for how long, and the last token, as the server says now."""
        seen = ask(_native.rw_lock_inspect, _native.submit_rw_lock_inspect, self._read._handle)
        return RwLockInspection(*seen)

    def force_release(self) -> bool:
        """Ends every hold of both sides, whoever has it; says whether anybody had one.

        Holds of this client are lost when this returns; other clients are sent a message and look at once; until then
        only their fencing tokens protect the resource.
        """
        handle = self._read._handle
        freed: bool = ask(_native.rw_lock_force_release, _native.submit_rw_lock_force_release, handle)
        return freed

    if not TYPE_CHECKING:  # with these a type checker would take `with lock:`

        def __enter__(self) -> NoReturn:
            self._no_scope("with")

        def __exit__(self, kind: object, error: object, traceback: object) -> None: ...
