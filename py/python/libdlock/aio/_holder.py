"""The holder of a task: who an acquire or a release acts for."""

from __future__ import annotations

import asyncio
import contextlib
import os
import warnings
import weakref
from typing import TYPE_CHECKING, Any

from .. import _native
from .._errors import DlockError
from .._hold import is_going_on

if TYPE_CHECKING:
    from ._lock import Lock

_holders: weakref.WeakKeyDictionary[asyncio.Task[Any], Holder] = weakref.WeakKeyDictionary()


def running_holder() -> Holder:
    """The running task's holder, the same for as long as the task lives."""
    task = asyncio.current_task()
    if task is None:
        raise RuntimeError("a lock of libdlock.aio is held by a task, and no task is running here")
    holder = _holders.get(task)
    if holder is None:
        holder = _holders[task] = Holder(task.get_name())
        task.add_done_callback(holder.ended)
    return holder


class Holder:
    """A task as the core knows it, and the locks that it has acquired and not released.

    A task that ends while it holds, or is collected because its loop is gone, stops the renewal of what it holds, with a
    `ResourceWarning`: nobody else can release it.
    """

    __slots__ = ("__weakref__", "_levels", "_name", "_process", "id")

    def __init__(self, name: str) -> None:
        self.id = _native.fresh_holder()
        self._name = name
        self._process = os.getpid()
        # By the lock's handle: the lock itself is not kept, nor its client.
        self._levels: dict[int, tuple[weakref.ref[Lock], int, int]] = {}

    def entered(self, lock: Lock) -> None:
        """Counts one acquire of the task."""
        _, _, levels = self._levels.get(lock._handle, (None, None, 0))
        self._levels[lock._handle] = (weakref.ref(lock), lock._client._number, levels + 1)

    def left(self, lock: Lock) -> None:
        """Counts one release, or one try of it."""
        found = self._levels.pop(lock._handle, None)
        if found is not None and found[2] > 1:
            self._levels[lock._handle] = (*found[:2], found[2] - 1)

    def ended(self, task: asyncio.Task[Any]) -> None:
        """The task is done."""
        self._abandon("ended")

    def __del__(self) -> None:
        self._abandon("was collected")

    def _holds(self, lock: Lock) -> bool:
        grant = _native.lock_grant(lock._handle, self.id)
        return grant is not None and is_going_on(grant)

    def _abandon(self, how: str) -> None:
        # In a forked child these are its parent's.
        if not self._levels or self._process != os.getpid():
            return
        levels, self._levels = self._levels, {}
        locks = [lock for lock in (lock() for lock, _, _ in levels.values()) if lock is not None]
        held = [lock for lock in locks if self._holds(lock)]
        for client in {client for _, client, _ in levels.values()}:
            with contextlib.suppress(DlockError):  # it is closed, and has said so
                _native.client_abandon(client, self.id)
        for lock in held:
            text = f"task {self._name!r} {how} while it held {lock!r}: its lease is not renewed any more"
            warnings.warn(text, ResourceWarning, stacklevel=2, source=lock)
