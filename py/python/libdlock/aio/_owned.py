"""A hold that belongs to its object and to no task."""

from __future__ import annotations

import os
import warnings
from typing import NoReturn, SupportsIndex

from .. import _native
from .._convert import Seconds, milliseconds
from .._hold import HoldView, is_going_on
from .._named import NamedObject
from .._opened import not_copied
from ._port import running_port
from ._releasing import Releasing


class OwnedHold(HoldView, Releasing):
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
        self._ended = False
        self._process = os.getpid()

    def _release_failed(self, error: BaseException) -> None:
        self._lock._release_failed(error)

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
        # With the object: neither a record of the warning nor the frame of one that is raised may keep that.
        del self
        warnings.warn(text, ResourceWarning, stacklevel=2)
