"""The counting semaphore for threads."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from . import _native
from ._convert import Seconds
from ._counting import CountingSemaphoreInspection, NamedCountingSemaphore
from ._errors import AcquireTimeout
from ._greenlets import ask, running


class CountingSemaphore(NamedCountingSemaphore):
    """Permits of one name without owner and lease, made by `Client.counting_semaphore`, as Redisson's `RSemaphore`.

    Anybody may release, whether or not anybody has acquired; permits of a process that died never come back by themselves.
    Where no Redisson client has to share it, use `Client.semaphore`. May be shared between threads.

        slots = client.counting_semaphore("slots")
        slots.try_set_permits(2)
        slots.acquire()
        slots.release()
    """

    _label = "libdlock.CountingSemaphore"

    def try_set_permits(self, n: int) -> bool:
        """Makes the semaphore with `n` permits, 0 to 2147483647, if it is not there; whether this call has made it.

        `InvalidArgument` for the number, `WrongType` when the key is something else, `OutOfMemory` when the server is full,
        `OutcomeUnknown` when no reply came within `operation_timeout`, `ConnectionFailed` and its kin when the server cannot
        be asked.
        """
        permits = self._permits(n, "try set permits")
        blocking, submit = (
            _native.counting_semaphore_try_set_permits,
            _native.submit_counting_semaphore_try_set_permits,
        )
        made: bool = ask(blocking, submit, self._number, permits)
        return made

    def acquire(self, n: int = 1, timeout: Seconds | None = -1, *, blocking: bool = True) -> bool:
        """Acquires `n` permits, 1 to 2147483647, all at once, and returns `True`; `False` when they were not there in time.

        They are the caller's until somebody releases them. `timeout` is in seconds; -1 and `None` wait for ever. Waiters are
        served in the order of arrival. With `blocking=False` it may jump the queue, at most twice per queue head: after that
        it is `False` also when permits are available. A semaphore that is not there has no permits: this waits until it is
        made and has enough.

        Raises `InvalidArgument` for the number, for a negative timeout and for one with `blocking=False`; `WrongType` when
        the key is something else; `OutcomeUnknown` when the server was asked and did not answer, and what it granted all the
        same is given back; `ConnectionFailed` and its kin when it cannot be asked. Ctrl-C leaves neither permits nor a place
        in the queue.
        """
        permits, waiting = self._wanted(n, blocking, timeout)
        got: list[_native.Permits] = []
        try:
            caller = running()
            if caller is None:
                _native.counting_semaphore_acquire(got, self._number, permits, waiting)
            else:
                submit = _native.submit_counting_semaphore_acquire
                got.append(caller.port.call(submit, self._number, permits, waiting))
        except BaseException as error:  # Ctrl-C may come after the grant and before the caller has it
            if got:
                self.release(n)
            if isinstance(error, AcquireTimeout):
                return False
            raise
        return True

    def try_acquire(self, n: int = 1) -> bool:
        """As `acquire(n, blocking=False)`."""
        return self.acquire(n, blocking=False)

    def release(self, n: int = 1) -> None:
        """Brings back `n` permits, 1 to 2147483647, and wakes those whose turn it is. It does not check who acquired them.

        `InvalidArgument` for the number, and when there would be more than 2147483647; `WrongType` when the key is something
        else; `OutcomeUnknown` when no reply came within `operation_timeout`: the permits may have been released or not, and
        a second call would release others; `ConnectionFailed` when nothing was sent. Ctrl-C does not stop it.
        """
        permits = self._permits(n, "release")
        ask(
            _native.counting_semaphore_release,
            _native.submit_counting_semaphore_release,
            self._number,
            permits,
        )

    def add_permits(self, n: int) -> None:
        """Changes how many permits are available by `n`, -2147483647 to 2147483647 but not 0, without waiting.

        Less than none may be left: then nothing is granted until enough came back. Makes a semaphore that is not there.
        Errors as `release`.
        """
        permits = self._permits(n, "add permits")
        ask(
            _native.counting_semaphore_add_permits,
            _native.submit_counting_semaphore_add_permits,
            self._number,
            permits,
        )

    def drain(self) -> int:
        """Takes all permits that are available, past those that wait; how many there were.

        A negative number becomes 0, and is returned. `OutcomeUnknown` when the reply was lost, and the number with it. One
        that Ctrl-C cuts short may have taken them.
        """
        taken: int = ask(
            _native.counting_semaphore_drain, _native.submit_counting_semaphore_drain, self._number
        )
        return taken

    def inspect(self) -> CountingSemaphoreInspection:
        """How many permits are available and how many processes wait, as the server says now."""
        submit = _native.submit_counting_semaphore_inspect
        return CountingSemaphoreInspection(*ask(_native.counting_semaphore_inspect, submit, self._number))

    if not TYPE_CHECKING:  # with these a type checker would take `with slots:`

        def __enter__(self) -> NoReturn:
            self._no_scope()

        def __exit__(self, kind: object, error: object, traceback: object) -> None: ...
