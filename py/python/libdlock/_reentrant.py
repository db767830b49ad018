"""What threads may acquire again: a lock or a side of one, with the meaning that `threading.RLock` gives to its methods."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from . import _native
from ._by_thread import _H, _O, HeldByThreads
from ._convert import Seconds, acquire_wait_ms, milliseconds
from ._errors import AcquireTimeout
from ._greenlets import MODULES, Caller, ask, running, running_id


class Reentrant(HeldByThreads[_H, _O]):
    """What a thread holds once, counted. The native functions are those of its kind."""

    _native_acquire: ClassVar[Callable[[list[_native.Grant], _native.ScopedHandle, int | None, bool], None]]
    _native_take: ClassVar[Callable[[list[_native.Grant], int, int | None], None]]
    _native_extend: ClassVar[Callable[[int, int, int], None]]
    _native_hold_count: ClassVar[Callable[[int, int], int]]
    _submit_acquire: ClassVar[Callable[..., int]]
    _submit_take: ClassVar[Callable[..., int]]
    _submit_extend: ClassVar[Callable[..., int]]

    def __enter__(self) -> _H:
        """Acquires within the lock's `wait` (for ever when it has none), else raises `AcquireTimeout`."""
        got: list[_native.Grant] = []
        try:
            caller = running() if "greenlet" in MODULES else None
            if caller is None:
                type(self)._native_acquire(got, self, self._wait, True)
            else:
                self._acquire_among_greenlets(caller, got, self._wait, scope=True)
            return self._held_class(self, got[0])
        except BaseException:  # Ctrl-C may come after the grant and before the caller has it
            if got:
                self._exit(None, None, None)
            raise

    def acquire(self, blocking: bool = True, timeout: Seconds | None = -1) -> bool:
        """Acquires and returns `True`, or `False` when that was not possible in time.

        `timeout` is in seconds; -1 and `None` wait for ever. With `blocking=False` it may jump the queue, at most twice per
        queue head: after that it is `False` also when the lock is free. The lock's `wait` plays no part: it belongs to
        `with`. Raises `InvalidArgument` for a negative timeout or one with `blocking=False`, `Deadlock` when the thread
        already holds a lock that is not re-entrant, `LockLost` when it has lost this lock and does not know it yet,
        `ConnectionFailed` and its kin when the server cannot be asked.
        """
        # The plain call of a plain thread takes no detour, and asks for greenlets by one look: a re-entry costs little else.
        plain = blocking is True and timeout == -1
        waiting = None if plain else acquire_wait_ms(blocking, timeout, self._name)
        got: list[_native.Grant] = []
        try:
            caller = running() if "greenlet" in MODULES else None
            if caller is None:
                type(self)._native_acquire(got, self, waiting, False)
            else:
                self._acquire_among_greenlets(caller, got, waiting, scope=False)
        except BaseException as error:
            if got:
                self._release(got[0].number)
            if isinstance(error, AcquireTimeout):
                return False
            raise
        return True

    def release(self) -> None:
        """Gives up one level; the last one frees the lock. `NotHeld` when this thread does not hold it, or lost it."""
        caller = running() if "greenlet" in MODULES else None
        if caller is None:
            type(self)._native_release(self, None)
        else:
            self._release_among_greenlets(caller, None)

    def take(self, *, wait: Seconds | None = None) -> _O:
        """Acquires a hold that belongs to the returned object and to no thread: any thread may release it.

        `wait` is in seconds, 0 makes one attempt, and `None` means the lock's own `wait`. Raises `AcquireTimeout` when the
        lock was not free in time. A thread that already holds the lock waits for itself here.
        """
        waiting = self._wait if wait is None else milliseconds(wait, "wait", op="acquire", name=self._name)
        return self._taken(type(self)._native_take, type(self)._submit_take, waiting)

    def extend(self, lease: Seconds) -> None:
        """Makes this thread's hold last `lease` from now, or as long as it did if that is longer. `NotHeld` without one."""
        ms = milliseconds(lease, "lease", op="extend", name=self._name)
        ask(type(self)._native_extend, type(self)._submit_extend, self._handle, running_id(), ms)

    def _extend(self, lease: Seconds, number: int | None) -> None:
        self.extend(lease)

    @property
    def hold_count(self) -> int:
        """How many levels this thread holds. No I/O."""
        return type(self)._native_hold_count(self._handle, running_id())

    def _acquire_among_greenlets(
        self, caller: Caller, got: list[_native.Grant], wait: int | None, *, scope: bool
    ) -> None:
        self._acquired_among_greenlets(caller, got, scope, type(self)._submit_acquire, wait, None)

    # What `threading.Condition` asks of a lock that may be held more than once.

    def _is_owned(self) -> bool:
        return self.hold_count > 0

    def _release_save(self) -> int:
        levels = self.hold_count
        for _ in range(levels):
            self.release()
        return levels

    def _acquire_restore(self, levels: int) -> None:
        for _ in range(levels):
            self.acquire()
