"""A hold that belongs to its object and to no task."""

from __future__ import annotations

import os
import warnings
from types import TracebackType
from typing import NoReturn, SupportsIndex, TypeVar

from .. import _native
from .._convert import Seconds, milliseconds
from .._hold import HoldView, is_going_on
from .._named import NamedObject
from .._opened import not_copied
from ._held import Lost
from ._port import running_port

_Self = TypeVar("_Self", bound="OwnedHold")


class OwnedHold(HoldView):
    """One acquisition of a lock or semaphore that belongs to this object, made by `take`.

    Any task may release it, extend it or read it, so it fits where the task that acquires is not the task that releases:
    pools, queues of jobs, fixtures of tests. It is not re-entrant.

    As an asynchronous context manager it is released at the end of the block, unless the block released or detached it. One
    that is collected while held warns with a `ResourceWarning`; its lease is then no longer renewed and runs out.
    """

    _label = "libdlock.aio.OwnedHold"

    def __init__(self, lock: NamedObject, grant: _native.Grant) -> None:
        self._name = lock._name
        self._grant = grant
        self._lock = lock  # keeps the client open
        self._lost: Lost | None = None
        self._ended = False
        self._process = os.getpid()

    async def __aenter__(self: _Self) -> _Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._ended:
            return
        try:
            await self.release()
        except BaseException as failed:
            if error is None:
                raise
            self._lock._release_failed(failed)

    @property
    def lost(self) -> Lost:
        """The signal that the hold was lost."""
        if self._lost is None:
            self._lost = Lost(self._grant)
        return self._lost

    async def release(self) -> None:
        """Ends the hold. `NotHeld` when it was released before, or was lost.

        Once begun it is carried out, also when the task is cancelled while it waits for the answer.
        """
        self._ended = True
        await running_port().finish(_native.submit_held_release, self._grant.handle)

    async def extend(self, lease: Seconds) -> None:
        """Makes the hold last `lease` from now, or as long as it did if that is longer. `NotHeld` when it is over.

        When the task is cancelled while it waits, the lease may be the old or the new one.
        """
        ms = milliseconds(lease, "lease", op="extend", name=self._name)
        await running_port().call(_native.submit_held_extend, self._grant.handle, ms)

    async def detach(self) -> str:
        """Ends the hold here without freeing the lock, and returns a text for `Lock.attach` elsewhere.

        Permits of a semaphore cannot be detached: `InvalidArgument`.

        A task that is cancelled while it waits may have let go already: nobody has the text then, and the lease runs out.
        """
        text: str = await running_port().call(_native.submit_held_detach, self._grant.handle)
        self._ended = True
        return text

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        raise not_copied(self)

    def __del__(self) -> None:
        lock = getattr(self, "_lock", None)
        if (
            lock is None
            or self._process != os.getpid()
            or lock._client.closed
            or not is_going_on(self._grant)
        ):
            return
        text = f"{self!r} collected while held: its lease is not renewed any more"
        warnings.warn(text, ResourceWarning, stacklevel=2, source=self)
