"""What a lock and a semaphore of threads have in common: the ends of scopes, releases, and holds that are no thread's."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import Any, ClassVar, Generic, TypeVar

from . import _native
from ._greenlets import MODULES, Caller, running, running_id
from ._held import Held
from ._named import NamedObject
from ._owned import OwnedHold

_H = TypeVar("_H", bound=Held)
_O = TypeVar("_O", bound=OwnedHold)


class HeldByThreads(NamedObject, Generic[_H, _O]):
    """What threads hold, or greenlets of gevent: by themselves (`_H`), or by an object of its own (`_O`)."""

    _held_class: type[_H]
    _owned_class: type[_O]
    _native_release: ClassVar[Callable[[_native.ScopedHandle, int | None], None]]
    _submit_release: ClassVar[Callable[..., int]]

    # Native: an interrupt that arrives as a Python function starts would skip its body, and with it the release.
    __exit__ = _native.ScopedHandle._exit

    @property
    def held(self) -> _H | None:
        """This thread's hold, of a semaphore its latest, or `None`, also after a loss. No I/O."""
        grant = self._grant_of(running_id())
        return None if grant is None else self._held_class(self, grant)

    def _extend(self, lease: Any, number: int | None) -> None:
        raise NotImplementedError

    def _taken(self, blocking: Callable[..., None], submit: Callable[..., int], *arguments: Any) -> _O:
        got: list[_native.Grant] = []
        try:
            caller = running()
            if caller is None:
                blocking(got, self._handle, *arguments)
            else:
                got.append(caller.port.call(submit, self._handle, *arguments))
            return self._owned_class(self, got[0])
        except BaseException:  # Ctrl-C may come after the grant and before the caller has it
            for grant in got:
                grant.undo()
            raise

    def _acquired_among_greenlets(
        self,
        caller: Caller,
        got: list[_native.Grant],
        scope: bool,
        submit: Callable[..., int],
        *arguments: Any,
    ) -> None:
        got.append(caller.port.call(submit, self._handle, caller.id, *arguments))
        caller.entered(self)
        if scope:
            self._enter_scope(caller.id, got[0])

    def _release(self, number: int | None) -> None:
        """Gives up one level, or one hold of permits: of the hold with this number, or of the caller's latest."""
        caller = running() if "greenlet" in MODULES else None
        if caller is None:
            type(self)._native_release(self, number)
        else:
            self._release_among_greenlets(caller, number)

    def _release_among_greenlets(self, caller: Caller, number: int | None) -> None:
        caller.left(self)
        caller.port.finish(type(self)._submit_release, self._handle, caller.id, number)

    def _exit_among_greenlets(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        caller = running()
        if caller is None:
            self._exit_thread(kind, error, traceback)
            return
        try:
            held, number, _kept = self._leave_scope(caller.id)
            held._release(number)
        except BaseException as failed:
            if error is None:
                raise
            self._release_failed(failed)
