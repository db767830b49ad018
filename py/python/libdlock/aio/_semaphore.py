"""The semaphore, with the methods of `libdlock.Semaphore` as coroutines."""

from __future__ import annotations

from .. import _native
from .._convert import Seconds, acquire_wait_ms, milliseconds, whole
from .._errors import AcquireTimeout, DlockError
from .._holder import Holder
from .._permits import NamedSemaphore, SemaphoreInspection
from ._block import Block
from ._by_task import HeldByTasks
from ._held import Held
from ._holder import running_holder
from ._owned import OwnedHold
from ._port import running_port


class Semaphore(HeldByTasks[Held, OwnedHold], NamedSemaphore):
    """Permits of one name, made by `Client.semaphore`. May be shared between tasks, also of several loops, and kept for as
    long as the client.

    What it gives out is leased: permits of a process that died are available again when their lease ends, and a hold says
    whether it was lost. There is no fencing token (`Held.token` is 0), for several hold at once.

    Each acquire is a hold of its own of the calling *task*; nobody else can release it. A task that acquires again waits
    like anybody else. What another task is to release comes from `take`. When the holding task ends, renewal stops, and the
    lease runs out. A task that is cancelled while it waits here holds nothing that it did not hold before.

        downloads = client.semaphore("downloads", 10)
        async with downloads:
            await fetch()
    """

    _label = "libdlock.aio.Semaphore"
    _held_class = Held
    _owned_class = OwnedHold
    _submit_release = _native.submit_semaphore_release

    async def __aenter__(self) -> Held:
        """Acquires one permit within the semaphore's `wait` (for ever when it has none), else raises `AcquireTimeout`."""
        block, holder = Block.beginning(self), running_holder()
        return self._entered(block, holder, await self._acquire(holder, 1, self._wait, None))

    async def acquire(
        self,
        blocking: bool = True,
        timeout: Seconds | None = -1,
        *,
        permits: int = 1,
        lease: Seconds | None = None,
    ) -> bool:
        """Acquires so many permits, 1 to 10000, all at once, and returns `True`; `False` when that was not possible in time.

        `timeout` is in seconds; -1 and `None` wait for ever. Waiters are served in the order of arrival: who wants few does
        not overtake for ever who wants many. With `blocking=False` it may jump the queue, at most twice per queue head:
        after that it is `False` also when permits are available. `lease` replaces the semaphore's for this hold, 0.1 s to
        24 h, which is then not renewed. The semaphore's `wait` plays no part: it belongs to `async with`.

        Raises `InvalidArgument` for a negative timeout or one with `blocking=False`, for a lease out of range, and for more
        permits than there are in all; `ConnectionFailed` and its kin when the server cannot be asked.
        """
        waiting = acquire_wait_ms(blocking, timeout, self._name)
        number, lasting = self._wanted(permits, lease)
        try:
            await self._acquire(running_holder(), number, waiting, lasting)
        except AcquireTimeout:
            return False
        return True

    async def release(self, n: int | None = None) -> None:
        """Ends this task's latest hold, with all its permits. `NotHeld` when it has none, or lost it.

        With `n`, ends its latest holds that have exactly `n` permits together: `InvalidArgument` when there are no such,
        which says how many there are, and ends nothing. What was lost is ended too, and then `NotHeld` is raised.

        A release that has begun is carried out, also when the task is cancelled while it waits for the answer; those of
        further holds then do not begin.
        """
        failed = None
        for _ in range(self._holds_of(running_holder().id, n)):
            try:
                await self._release(None)
            except DlockError as error:
                failed = failed or error
        if failed is not None:
            raise failed

    async def take(
        self, permits: int = 1, *, wait: Seconds | None = None, lease: Seconds | None = None
    ) -> OwnedHold:
        """Acquires a hold that belongs to the returned object and to no task: any task may release it.

        `wait` is in seconds, 0 makes one attempt, and `None` means the semaphore's own `wait`; `permits` and `lease` are as
        in `acquire`. Raises `AcquireTimeout` when so many were not available in time.
        """
        waiting = self._wait if wait is None else milliseconds(wait, "wait", op="acquire", name=self._name)
        number, lasting = self._wanted(permits, lease)
        submit = _native.submit_semaphore_take
        return OwnedHold(self, await running_port().call(submit, self._handle, number, waiting, lasting))

    async def extend(self, lease: Seconds) -> None:
        """Makes this task's latest hold last `lease` from now, or as long as it did if that is longer.

        `NotHeld` without one; `InvalidArgument` for a lease that is not 0.1 s to 24 h. When the task is cancelled while it
        waits, the lease may be the old or the new one.
        """
        await self._extend(lease, None)

    @property
    def hold_count(self) -> int:
        """How many holds this task has, of however many permits each. No I/O."""
        return _native.semaphore_hold_count(self._handle, running_holder().id)

    async def set_permits(self, permits: int) -> None:
        """Sets how many permits there are in all, 1 to 2147483647, for everybody.

        Lowered, what is taken stays taken, and nothing is granted until enough was given back; raised, those are woken whose
        turn it is. `InvalidArgument` for the number. When the task is cancelled while it waits, it may be done or not.
        """
        number = whole(permits, "permits", op="set permits", name=self._name)
        await running_port().call(_native.submit_semaphore_set_permits, self._handle, number)

    async def inspect(self) -> SemaphoreInspection:
        """How many permits there are and how many are available, as the server says now."""
        return SemaphoreInspection(*await running_port().call(_native.submit_semaphore_inspect, self._handle))

    async def _acquire(
        self, holder: Holder, permits: int, wait: int | None, lease: int | None
    ) -> _native.Grant:
        submit = _native.submit_semaphore_acquire
        grant: _native.Grant = await running_port().call(
            submit, self._handle, holder.id, permits, wait, lease
        )
        holder.entered(self)
        return grant

    async def _extend(self, lease: Seconds, number: int | None) -> None:
        ms = milliseconds(lease, "lease", op="extend", name=self._name)
        submit = _native.submit_semaphore_extend
        await running_port().call(submit, self._handle, running_holder().id, number, ms)
