"""The lock, with the methods of `libdlock.Lock` as coroutines."""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING

from .. import _native
from .._convert import Seconds, acquire_wait_ms, milliseconds
from .._errors import AcquireTimeout
from .._hold import Inspection, is_going_on
from .._named import NamedLock
from ._held import Held
from ._holder import Holder, running_holder
from ._port import running_port

if TYPE_CHECKING:
    from ._client import Client


class Lock(NamedLock):
    """A lock of one name, made by `Client.lock`. May be shared between tasks, also of several loops, and kept for as long as
    the client.

    The holder is the *task*: it may acquire again (unless `reentrant=False`), must release as often, and nobody else can.
    Two `Lock` objects of one client and name are the same lock. When the last of them is collected while it is held, or the
    holding task ends, renewal stops, and the lease runs out.

    A task that is cancelled while it waits here holds nothing that it did not hold before.
    """

    _client: Client
    _label = "libdlock.aio.Lock"
    _grant: _native.Grant | None = None

    async def __aenter__(self) -> Held:
        """Acquires within the lock's `wait` (for ever when it has none), else raises `AcquireTimeout`."""
        return Held(self, await self._acquire(self._wait))

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        try:
            await self.release()
        except BaseException as failed:
            if error is None:
                raise
            self._release_failed(failed)

    async def acquire(self, blocking: bool = True, timeout: Seconds = -1) -> bool:
        """Acquires and returns `True`, or `False` when that was not possible in time.

        `timeout` is in seconds; -1 waits for ever. The lock's `wait` plays no part: it belongs to `async with`. Raises
        `InvalidArgument` for a timeout with `blocking=False` or of more than 24 h, `Deadlock` when the task already holds
        a lock that is not re-entrant, `LockLost` when it has lost this lock and not released it yet, `ConnectionFailed` and
        its kin when the server cannot be asked.
        """
        try:
            await self._acquire(acquire_wait_ms(blocking, timeout, self._name))
        except AcquireTimeout:
            return False
        return True

    async def release(self) -> None:
        """Gives up one level; the last one frees the lock. `NotHeld` when this task does not hold it, or lost it.

        Once begun it is carried out, also when the task is cancelled while it waits for the answer.
        """
        holder = running_holder()
        # Whatever comes of it: a release that failed is no hold that was forgotten.
        if holder.left(self):
            self._left()
        await running_port().finish(_native.submit_lock_release, self._handle, holder.id)

    async def extend(self, lease: Seconds) -> None:
        """Makes this task's hold last `lease` from now, or as long as it did if that is longer. `NotHeld` without one.

        When the task is cancelled while it waits, the lease may be the old or the new one.
        """
        ms = milliseconds(lease, "lease", op="extend", name=self._name)
        await running_port().call(_native.submit_lock_extend, self._handle, running_holder().id, ms)

    @property
    def held(self) -> Held | None:
        """This task's hold, or `None`. No I/O."""
        grant = _native.lock_grant(self._handle, running_holder().id)
        return None if grant is None else Held(self, grant)

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
        """Frees the lock whoever holds it; says whether anybody did. The holder's `lost` is set at its next renewal.

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
        self._left()
        return text

    async def attach(self, detached: str) -> Held:
        """Makes this task the holder of what `detach` let go of, in this process or another, with the same token.

        A task that is cancelled while it waits does not hold it, and may have used the text up: then the lock was freed.
        """
        holder = running_holder()
        grant = await running_port().call(_native.submit_lock_attach, self._handle, holder.id, detached)
        return Held(self, self._got(holder, grant))

    async def _acquire(self, wait: int | None) -> _native.Grant:
        holder = running_holder()
        grant = await running_port().call(_native.submit_lock_acquire, self._handle, holder.id, wait, None)
        return self._got(holder, grant)

    def _got(self, holder: Holder, grant: _native.Grant) -> _native.Grant:
        holder.entered(self)
        self._entered()
        self._grant = grant
        return grant

    def _is_held(self) -> bool:
        return self._grant is not None and is_going_on(self._grant)
