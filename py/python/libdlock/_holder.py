"""Holders that are no threads: a task of asyncio or a greenlet of gevent, and what it has acquired."""

from __future__ import annotations

import contextlib
import os
import warnings
import weakref
from typing import TYPE_CHECKING, Any

from . import _native
from ._errors import DlockError
from ._hold import is_going_on

if TYPE_CHECKING:
    from ._named import NamedObject
    from .aio._block import Block


class Holder:
    """A task or greenlet as the core knows it, and the locks and semaphores that it has acquired and not released.

    One that ends while it holds, or is collected because its loop is gone, stops the renewal of what it holds, with a
    `ResourceWarning`: nobody else can release it. It does so later if it has blocks that others may still end.
    """

    __slots__ = ("__weakref__", "_blocks", "_has_ended", "_levels", "_process", "_who", "id")

    def __init__(self, who: str) -> None:
        self.id = _native.fresh_holder()
        self._who = who
        self._process = os.getpid()
        self._has_ended = False
        # Innermost last. Weak: a block that nobody can end any more, because what it is part of is gone, is over.
        self._blocks: list[weakref.ref[Block]] = []
        # By the client's handle, the kind and the name, for all lock objects of one name are the same lock.
        self._levels: dict[tuple[int, str, str], tuple[NamedObject, int]] = {}

    def entered(self, lock: NamedObject) -> None:
        """Counts one acquire."""
        key = (lock._client._number, lock._kind, lock._name)
        found = self._levels.get(key)
        self._levels[key] = (lock, 1 if found is None else found[1] + 1)

    def left(self, lock: NamedObject) -> None:
        """Counts one release, or one try of it."""
        key = (lock._client._number, lock._kind, lock._name)
        found = self._levels.pop(key, None)
        if found is not None and found[1] > 1:
            self._levels[key] = (found[0], found[1] - 1)

    def block_entered(self, block: Block) -> None:
        """It has begun an `async with`."""
        self._blocks.append(weakref.ref(block))

    def block_left(self, block: Block) -> None:
        """An `async with` of it is over, and in whichever task."""
        self._blocks = [other for other in self._blocks if other() not in (None, block)]
        if self._has_ended and not self._blocks:
            self._abandon("ended")

    def innermost_block(self, lock: NamedObject) -> Block | None:
        """The block that began last of those that will release `lock`."""
        blocks = [block() for block in self._blocks]
        return next((block for block in reversed(blocks) if block and block.ends is lock), None)

    def ended(self, ended: Any) -> None:
        """The task or greenlet is done."""
        self._has_ended = True
        if not self._blocks:
            self._abandon("ended")

    def __del__(self) -> None:
        self._abandon("was collected")

    def _holds(self, lock: NamedObject) -> bool:
        grant = lock._grant_of(self.id)
        return grant is not None and is_going_on(grant)

    def _abandon(self, how: str) -> None:
        # In a forked child these are its parent's.
        if not self._levels or self._process != os.getpid():
            return
        levels, self._levels = self._levels.values(), {}
        # A client that is being closed may be releasing what this holder has.
        locks = [lock for lock, _ in levels if not lock._client.closed]
        held = [lock for lock in locks if self._holds(lock)]
        for client in {lock._client for lock in locks}:
            with contextlib.suppress(DlockError):  # it is closed, and has said so
                _native.client_abandon(client._number, self.id)
        for lock in held:
            text = f"{self._who} {how} while it held {lock!r}: its lease is not renewed any more"
            warnings.warn(text, ResourceWarning, stacklevel=2, source=lock)
