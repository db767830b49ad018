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
    from ._client import Client
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
        # By the client's handle and the name, for all lock objects of one name are the same lock. None of them is kept,
        # nor is the client.
        self._levels: dict[tuple[int, str], tuple[weakref.ref[Lock], weakref.ref[Client], int]] = {}

    def entered(self, lock: Lock) -> None:
        """Counts one acquire of the task."""
        client = lock._client
        key = (client._number, lock._name)
        found = self._levels.get(key)
        self._levels[key] = (weakref.ref(lock), weakref.ref(client), 1 if found is None else found[2] + 1)

    def left(self, lock: Lock) -> bool:
        """Counts one release, or one try of it; says whether there was an acquire to match."""
        key = (lock._client._number, lock._name)
        found = self._levels.pop(key, None)
        if found is None:
            return False
        latest, client, levels = found
        if levels > 1:
            self._levels[key] = (latest, client, levels - 1)
        return True

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
        levels, self._levels = self._levels.values(), {}
        # One that was collected has closed. One that is being closed may be releasing what this task holds.
        clients = {client for client in (client() for _, client, _ in levels) if client and not client.closed}
        locks = [lock for lock in (lock() for lock, _, _ in levels) if lock and lock._client in clients]
        held = [lock for lock in locks if self._holds(lock)]
        for client in clients:
            with contextlib.suppress(DlockError):  # it is closed, and has said so
                _native.client_abandon(client._number, self.id)
        for lock in held:
            text = f"task {self._name!r} {how} while it held {lock!r}: its lease is not renewed any more"
            warnings.warn(text, ResourceWarning, stacklevel=2, source=lock)
