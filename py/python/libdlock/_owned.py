"""A hold that belongs to its object and to no thread."""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING, NoReturn, SupportsIndex, TypeVar

from . import _native
from ._convert import Seconds, milliseconds
from ._greenlets import ask, running
from ._held import Lost
from ._hold import HoldView, described
from ._named import NamedObject
from ._opened import not_copied

_Self = TypeVar("_Self", bound="OwnedHold")


class OwnedHold(_native.HoldHandle, HoldView):
    """One acquisition of a lock or semaphore that belongs to this object, made by `take`.

    Any thread may release it, extend it or read it, so it fits where the thread that acquires is not the thread that
    releases: synchronous `yield` dependencies of a web framework, generators, executors, pools. It is not re-entrant.

    As a context manager it is released at the end of the block, unless the block released or detached it. One that is
    collected while held warns with a `ResourceWarning`; its lease is then no longer renewed and runs out.
    """

    _label = "libdlock.OwnedHold"
    _lock: NamedObject
    _lost: Lost | None = None

    def __new__(cls: type[_Self], lock: NamedObject, grant: _native.Grant) -> _Self:
        self = super().__new__(cls, grant, described(cls._label, lock._name, grant))
        self._grant = grant
        self._name = lock._name
        self._lock = lock  # keeps the client open
        return self

    # Native, as is the finaliser: an interrupt that arrives as a Python function starts would skip its body.
    if TYPE_CHECKING:  # pyright and Pylance take what is assigned for a method of the native class

        def __enter__(self: _Self) -> _Self: ...

    else:
        __enter__ = _native.HoldHandle._enter
    __exit__ = _native.HoldHandle._exit

    @property
    def lost(self) -> Lost:
        """The signal that the hold was lost."""
        if self._lost is None:
            self._lost = Lost(self._grant)
        return self._lost

    def release(self) -> None:
        """Ends the hold. `NotHeld` when it was released before, or was lost."""
        caller = running()
        if caller is None:
            self._release()
        else:
            self._end()
            caller.port.finish(_native.submit_held_release, self._grant.handle)

    def extend(self, lease: Seconds) -> None:
        """Makes the hold last `lease` from now, or as long as it did if that is longer. `NotHeld` when it is over."""
        ms = milliseconds(lease, "lease", op="extend", name=self._name)
        ask(_native.held_extend, _native.submit_held_extend, self._grant.handle, ms)

    def detach(self) -> str:
        """Ends the hold here without freeing the lock, and returns a text for `Lock.attach` elsewhere.

        Permits of a semaphore cannot be detached: `InvalidArgument`.
        """
        caller = running()
        if caller is None:
            return self._detach()
        text: str = caller.port.call(_native.submit_held_detach, self._grant.handle)
        self._end()
        return text

    def _exit_among_greenlets(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        try:
            self.release()
        except BaseException as failed:
            if error is None:
                raise
            self._release_failed(failed)

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        raise not_copied(self)

    def _release_failed(self, error: BaseException) -> None:
        self._lock._release_failed(error)
