"""The counting semaphore for tasks, with the methods of `libdlock.CountingSemaphore` as coroutines."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from .. import _native
from .._convert import Seconds
from .._counting import CountingSemaphoreInspection, NamedCountingSemaphore
from .._errors import AcquireTimeout
from ._port import running_port


class CountingSemaphore(NamedCountingSemaphore):
    """Permits of one name without owner and lease, made by `Client.counting_semaphore`, as Redisson's `RSemaphore`.

    Anybody may release, whether or not anybody has acquired; permits of a process that died never come back by themselves.
    Where no Redisson client has to share it, use `Client.semaphore`. May be shared between tasks, also of several loops.

        slots = client.counting_semaphore("slots")
        await slots.try_set_permits(2)
        await slots.acquire()
        await slots.release()
    """

    _label = "libdlock.aio.CountingSemaphore"

    async def try_set_permits(self, n: int) -> bool:
        """Makes the semaphore with `n` permits, 0 to 2147483647, if it is not there; whether this call has made it.

        `InvalidArgument` for the number, `WrongType` when the key is something else, `OutOfMemory` when the server is full,
        `OutcomeUnknown` when no reply came within `operation_timeout`, `ConnectionFailed` and its kin when the server cannot
        be asked. When the task is cancelled while it waits, it may be made or not.
        """
        submit, permits = (
            _native.submit_counting_semaphore_try_set_permits,
            self._permits(n, "try set permits"),
        )
        made: bool = await running_port().call(submit, self._number, permits)
        return made

    async def acquire(self, n: int = 1, timeout: Seconds | None = -1, *, blocking: bool = True) -> bool:
        """Acquires `n` permits, 1 to 2147483647, all at once, and returns `True`; `False` when they were not there in time.

        They are the caller's until somebody releases them. `timeout` is in seconds; -1 and `None` wait for ever. Waiters are
        served in the order of arrival. With `blocking=False` it may jump the queue, at most twice per queue head: after that
        it is `False` also when permits are available. A semaphore that is not there has no permits: this waits until it is
        made and has enough.

        Raises `InvalidArgument` for the number, for a negative timeout and for one with `blocking=False`; `WrongType` when
        the key is something else; `OutcomeUnknown` when the server was asked and did not answer, and what it granted all the
        same is given back; `ConnectionFailed` and its kin when it cannot be asked. A task that is cancelled while it waits
        has neither permits nor a place in the queue.
        """
        permits, waiting = self._wanted(n, blocking, timeout)
        submit = _native.submit_counting_semaphore_acquire
        try:
            await running_port().call(submit, self._number, permits, waiting)
        except AcquireTimeout:
            return False
        return True

    async def try_acquire(self, n: int = 1) -> bool:
        """As `acquire(n, blocking=False)`."""
        return await self.acquire(n, blocking=False)

    async def release(self, n: int = 1) -> None:
        """Brings back `n` permits, 1 to 2147483647, and wakes those whose turn it is. It does not check who acquired them.

        `InvalidArgument` for the number, and when there would be more than 2147483647; `WrongType` when the key is something
        else; `OutcomeUnknown` when no reply came within `operation_timeout`: the permits may have been released or not, and
        a second call would release others; `ConnectionFailed` when nothing was sent. Once begun it is carried out, also when
        the task is cancelled while it waits.
        """
        submit, permits = _native.submit_counting_semaphore_release, self._permits(n, "release")
        await running_port().finish(submit, self._number, permits)

    async def add_permits(self, n: int) -> None:
        """Changes how many permits are available by `n`, -2147483647 to 2147483647 but not 0, without waiting.

        Less than none may be left: then nothing is granted until enough came back. Makes a semaphore that is not there.
        Errors and cancellation as `release`.
        """
        submit, permits = _native.submit_counting_semaphore_add_permits, self._permits(n, "add permits")
        await running_port().finish(submit, self._number, permits)

    async def drain(self) -> int:
        """Takes all permits that are available, past those that wait; how many there were.

        A negative number becomes 0, and is returned. `OutcomeUnknown` when the reply was lost, and the number with it. When
        the task is cancelled while it waits, they may have been taken.
        """
        taken: int = await running_port().call(_native.submit_counting_semaphore_drain, self._number)
        return taken

    async def inspect(self) -> CountingSemaphoreInspection:
        """How many permits are available and how many processes wait, as the server says now."""
        submit = _native.submit_counting_semaphore_inspect
        return CountingSemaphoreInspection(*await running_port().call(submit, self._number))

    if not TYPE_CHECKING:  # with these a type checker would take `async with slots:`

        async def __aenter__(self) -> NoReturn:
            self._no_scope()

        async def __aexit__(self, kind: object, error: object, traceback: object) -> None: ...
