"""The lock, with the methods of `libdlock.Lock` as coroutines."""

from __future__ import annotations

from .. import _native
from .._convert import Seconds, acquire_wait_ms, milliseconds, utf8
from .._errors import AcquireTimeout
from .._hold import Inspection
from .._holder import Holder
from .._named import NamedLock
from ._by_task import HeldByTasks
from ._held import Held
from ._holder import running_holder
from ._owned import OwnedHold
from ._port import running_port


class Lock(HeldByTasks, NamedLock):
    """A lock of one name, made by `Client.lock`. May be shared between tasks, also of several loops, and kept for as long as
    the client.

    The holder is the *task*: it may acquire again (unless `reentrant=False`), must release as often, and nobody else can.
    Two `Lock` objects of one client and name are the same lock, so a lock may be made anew to release it. When the holding
    task ends, renewal stops, and the lease runs out.

    A task that is cancelled while it waits here holds nothing that it did not hold before.
    """

    _label = "libdlock.aio.Lock"
    _submit_release = _native.submit_lock_release

    async def __aenter__(self) -> Held:
        """Acquires within the lock's `wait` (for ever when it has none), else raises `AcquireTimeout`."""
        holder = running_holder()
        grant = await self._acquire(holder, self._wait)
        self._enter_scope(holder.id, grant)
        return Held(self, grant)

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

    async def take(self, *, wait: Seconds | None = None) -> OwnedHold:
        """Acquires a hold that belongs to the returned object and to no task: any task may release it.

        `wait` is in seconds, 0 makes one attempt, and `None` means the lock's own `wait`. Raises `AcquireTimeout` when the
        lock was not free in time. A task that already holds the lock waits for itself here.
        """
        waiting = self._wait if wait is None else milliseconds(wait, "wait", op="acquire", name=self._name)
        return OwnedHold(self, await running_port().call(_native.submit_lock_take, self._handle, waiting))

    async def extend(self, lease: Seconds) -> None:
        """Makes this task's hold last `lease` from now, or as long as it did if that is longer. `NotHeld` without one.

        When the task is cancelled while it waits, the lease may be the old or the new one.
        """
        ms = milliseconds(lease, "lease", op="extend", name=self._name)
        await running_port().call(_native.submit_lock_extend, self._handle, running_holder().id, ms)

    async def _extend(self, lease: Seconds, number: int | None) -> None:
        await self.extend(lease)

    @property
    def hold_count(self) -> int:
        """How many levels this task holds. No I/O."""
        return _native.lock_hold_count(self._handle, running_holder().id)

    async def locked(self) -> bool:
        """Whether anybody holds the lock, as the server says now."""
        return (await self.inspect()).holder is not None

    async def inspect(self) -> Inspection:
        """Who holds the lock, for how long, and the last token, as the server says now."""
        return Inspection(*await running_port().call(_native.submit_lock_inspect, self._handle))

    async def force_release(self) -> bool:
        """Frees the lock whoever holds it; says whether anybody did.

        A hold of this client is lost when this returns; another client is sent a message and looks at once; until then
        only its fencing token protects the resource.

        When the task is cancelled while it waits, it may have been freed or not.
        """
        freed: bool = await running_port().call(_native.submit_lock_force_release, self._handle)
        return freed

    async def detach(self) -> str:
        """Lets go of this task's hold without freeing the lock, and returns a text for `attach` elsewhere.

        The lock stays taken for a lease that starts anew, and is not renewed until it is attached. `InvalidArgument` when
        this task holds it more than once. A task that is cancelled while it waits may have let go already: nobody has the
        text then, and the lease runs out.
        """
        holder = running_holder()
        text: str = await running_port().call(_native.submit_lock_detach, self._handle, holder.id)
        holder.left(self)
        return text

    async def attach(self, detached: str) -> Held:
        """Makes this task the holder of what `detach` let go of, in this process or another, with the same token.

        A task that is cancelled while it waits does not hold it, and may have used the text up: then the lock was freed.
        """
        utf8(detached, "detached", op="attach")
        holder = running_holder()
        grant = await running_port().call(_native.submit_lock_attach, self._handle, holder.id, detached)
        return Held(self, self._got(holder, grant))

    async def _acquire(self, holder: Holder, wait: int | None) -> _native.Grant:
        grant = await running_port().call(_native.submit_lock_acquire, self._handle, holder.id, wait, None)
        return self._got(holder, grant)

    def _got(self, holder: Holder, grant: _native.Grant) -> _native.Grant:
        holder.entered(self)
        return grant
