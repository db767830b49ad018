"""Blocks of `async with`: each ends its own hold, whichever task runs its end.

That is another task where an asynchronous generator is left by `break`, which the loop closes later, or where a fixture of a
test is set up and torn down.
"""

from __future__ import annotations

import threading
from types import MethodType, TracebackType
from typing import TYPE_CHECKING, Any

from .. import _native
from .._holder import Holder
from ._holder import running_holder

if TYPE_CHECKING:
    from ._by_task import HeldByTasks


class _Beginning(threading.local):
    block: Block | None = None


_beginning = _Beginning()


class BlockEnd:
    """The `__aexit__` of what tasks hold. Looking it up begins a block.

    Python does so once for each block, of the object or of its class, and then runs `__aenter__` with nothing in between.
    """

    def __get__(self, lock: HeldByTasks[Any, Any] | None, owner: object = None) -> Any:
        block = _beginning.block = Block(lock)
        return block if lock is None else MethodType(block, lock)


class Block:
    """The end of one block."""

    __slots__ = ("__weakref__", "_grant", "_holder", "_lock", "ends")

    _holder: Holder | None

    def __init__(self, lock: HeldByTasks[Any, Any] | None) -> None:
        self._lock = lock
        self._holder = None
        self.ends: HeldByTasks[Any, Any] | None = None
        """What it releases: of a downgraded write side the read side."""

    @staticmethod
    def beginning(lock: HeldByTasks[Any, Any]) -> Block | None:
        """The block that begins with this call of `__aenter__`; none if that was called by hand, as `__aexit__` will be."""
        block, _beginning.block = _beginning.block, None
        return block if block is not None and block._lock in (None, lock) else None

    def entered(self, lock: HeldByTasks[Any, Any], holder: Holder, grant: _native.Grant) -> None:
        """Its `__aenter__` has brought this hold."""
        self._holder = holder
        self.goes_on_as(lock, grant)
        holder.block_entered(self)

    def goes_on_as(self, lock: HeldByTasks[Any, Any], grant: _native.Grant) -> None:
        """Its end will release this hold."""
        self.ends = lock
        self._grant = grant

    async def __call__(
        self,
        lock: HeldByTasks[Any, Any],
        kind: type[BaseException] | None = None,
        error: BaseException | None = None,
        traceback: TracebackType | None = None,
    ) -> None:
        try:
            await self._leave(lock)
        except BaseException as failed:
            if error is None:
                raise
            lock._release_failed(failed)

    async def _leave(self, lock: HeldByTasks[Any, Any]) -> None:
        holder, ends = self._holder, self.ends
        if holder is None or ends is None:
            holder = running_holder()
            ends, number, _kept = lock._leave_scope(holder.id)
            await ends._release(number, holder)
            return
        # As the innermost scope of its holder, which it need not be.
        ends._enter_scope(holder.id, self._grant)
        _ends, number, _kept = ends._leave_scope(holder.id)
        self.ends = None
        try:
            await ends._release(number, holder)
        finally:
            self._over()

    def _over(self) -> None:
        holder, self._holder = self._holder, None
        if holder is not None:
            holder.block_left(self)

    def __del__(self) -> None:
        self._over()
