"""What a task may acquire again, with the methods of `libdlock._reentrant` as coroutines: a lock, or a side of one."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from .. import _native
from .._convert import Seconds, acquire_wait_ms, milliseconds
from .._errors import AcquireTimeout
from .._holder import Holder
from ._block import Block
from ._by_task import _H, _O, HeldByTasks
from ._holder import running_holder
from ._port import running_port


class Reentrant(HeldByTasks[_H, _O]):
    """What a task holds once, counted. The native functions are those of its kind."""

    _native_hold_count: ClassVar[Callable[[int, int], int]]
    _submit_acquire: ClassVar[Callable[..., int]]
    _submit_take: ClassVar[Callable[..., int]]
    _submit_extend: ClassVar[Callable[..., int]]

    async def __aenter__(self) -> _H:
        """Acquires within the lock's `wait` (for ever when it has none), else raises `AcquireTimeout`."""
        block, holder = Block.beginning(self), running_holder()
        return self._entered(block, holder, await self._acquire(holder, self._wait))

    async def acquire(self, blocking: bool = True, timeout: Seconds | None = -1) -> bool:
        """Acquires and returns `True`, or `False` when that was not possible in time.

        `timeout` is in seconds; -1 and `None` wait for ever. With `blocking=False` it may jump the queue, at most twice per
        queue head: after that it is `False` also when the lock is free. The lock's `wait` plays no part: it belongs to
        `async with`. Raises `InvalidArgument` for a negative timeout or one with `blocking=False`, `Deadlock` when the task
        already holds a lock that is not re-entrant, `LockLost` when it has lost this lock and does not know it yet,
        `ConnectionFailed` and its kin when the server cannot be asked.
        """
        try:
            await self._acquire(running_holder(), acquire_wait_ms(blocking, timeout, self._name))
        except AcquireTimeout:
            return False
        return True

    async def release(self) -> None:
        """Gives up one level; the last one frees the lock. `NotHeld` when this task does not hold it, or lost it.

        Once begun it is carried out, also when the task is cancelled while it waits for the answer.
        """
        await self._release(None)

    async def take(self, *, wait: Seconds | None = None) -> _O:
        """Acquires a hold that belongs to the returned object and to no task: any task may release it.

        `wait` is in seconds, 0 makes one attempt, and `None` means the lock's own `wait`. Raises `AcquireTimeout` when the
        lock was not free in time. A task that already holds the lock waits for itself here.
        """
        waiting = self._wait if wait is None else milliseconds(wait, "wait", op="acquire", name=self._name)
        return self._owned_class(
            self, await running_port().call(type(self)._submit_take, self._handle, waiting)
        )

    async def extend(self, lease: Seconds) -> None:
        """Makes this task's hold last `lease` from now, or as long as it did if that is longer. `NotHeld` without one.

        When the task is cancelled while it waits, the lease may be the old or the new one.
        """
        ms = milliseconds(lease, "lease", op="extend", name=self._name)
        await running_port().call(type(self)._submit_extend, self._handle, running_holder().id, ms)

    async def _extend(self, lease: Seconds, number: int | None) -> None:
        await self.extend(lease)

    @property
    def hold_count(self) -> int:
        """How many levels this task holds. No I/O."""
        return type(self)._native_hold_count(self._handle, running_holder().id)

    async def _acquire(self, holder: Holder, wait: int | None) -> _native.Grant:
        grant = await running_port().call(type(self)._submit_acquire, self._handle, holder.id, wait, None)
        return self._got(holder, grant)

    def _got(self, holder: Holder, grant: _native.Grant) -> _native.Grant:
        holder.entered(self)
        return grant
