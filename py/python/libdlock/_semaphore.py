"""The semaphore, with the verbs of `threading.Semaphore`."""

from __future__ import annotations

from . import _native
from ._by_thread import HeldByThreads
from ._convert import Seconds, acquire_wait_ms, milliseconds, whole
from ._errors import AcquireTimeout, DlockError
from ._greenlets import MODULES, ask, running, running_id
from ._held import Held
from ._owned import OwnedHold
from ._permits import NamedSemaphore, SemaphoreInspection


class Semaphore(HeldByThreads[Held, OwnedHold], NamedSemaphore):
    """Permits of one name, made by `Client.semaphore`. May be shared between threads and kept for as long as the client.

    What it gives out is leased: permits of a process that died are available again when their lease ends, and a hold says
    whether it was lost. There is no fencing token (`Held.token` is 0), for several hold at once.

    Each acquire is a hold of its own of the calling *thread*, under gevent of the *greenlet*; nobody else can release it. A
    thread that acquires again waits like anybody else. What another thread is to release comes from `take`. When the holder
    ends, renewal stops, and the lease runs out.

        downloads = client.semaphore("downloads", 10)
        with downloads:
            fetch()
    """

    _label = "libdlock.Semaphore"
    _held_class = Held
    _owned_class = OwnedHold
    _native_release = _native.semaphore_release
    _submit_release = _native.submit_semaphore_release

    def __enter__(self) -> Held:
        """Acquires one permit within the semaphore's `wait` (for ever when it has none), else raises `AcquireTimeout`."""
        got: list[_native.Grant] = []
        try:
            self._acquire(got, 1, self._wait, None, True)
            return Held(self, got[0])
        except BaseException:  # Ctrl-C may come after the grant and before the caller has it
            if got:
                self._exit(None, None, None)
            raise

    def acquire(
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
        24 h, which is then not renewed. The semaphore's `wait` plays no part: it belongs to `with`.

        Raises `InvalidArgument` for a negative timeout or one with `blocking=False`, for a lease out of range, and for more
        permits than there are in all; `ConnectionFailed` and its kin when the server cannot be asked.
        """
        waiting = acquire_wait_ms(blocking, timeout, self._name)
        number, lasting = self._wanted(permits, lease)
        got: list[_native.Grant] = []
        try:
            self._acquire(got, number, waiting, lasting, False)
        except BaseException as error:
            if got:
                self._release(got[0].number)
            if isinstance(error, AcquireTimeout):
                return False
            raise
        return True

    def release(self, n: int | None = None) -> None:
        """Ends this thread's latest hold, with all its permits. `NotHeld` when it has none, or lost it.

        With `n`, ends its latest holds that have exactly `n` permits together: `InvalidArgument` when there are no such,
        which says how many there are, and ends nothing. What was lost is ended too, and then `NotHeld` is raised.
        """
        failed = None
        for _ in range(self._holds_of(running_id(), n)):
            try:
                self._release(None)
            except DlockError as error:
                failed = failed or error
        if failed is not None:
            raise failed

    def take(
        self, permits: int = 1, *, wait: Seconds | None = None, lease: Seconds | None = None
    ) -> OwnedHold:
        """Acquires a hold that belongs to the returned object and to no thread: any thread may release it.

        `wait` is in seconds, 0 makes one attempt, and `None` means the semaphore's own `wait`; `permits` and `lease` are as
        in `acquire`. Raises `AcquireTimeout` when so many were not available in time.
        """
        waiting = self._wait if wait is None else milliseconds(wait, "wait", op="acquire", name=self._name)
        number, lasting = self._wanted(permits, lease)
        return self._taken(_native.semaphore_take, _native.submit_semaphore_take, number, waiting, lasting)

    def extend(self, lease: Seconds) -> None:
        """Makes this thread's latest hold last `lease` from now, or as long as it did if that is longer.

        `NotHeld` without one; `InvalidArgument` for a lease that is not 0.1 s to 24 h.
        """
        self._extend(lease, None)

    @property
    def hold_count(self) -> int:
        """How many holds this thread has, of however many permits each. No I/O."""
        return _native.semaphore_hold_count(self._handle, running_id())

    def set_permits(self, permits: int) -> None:
        """Sets how many permits there are in all, 1 to 2147483647, for everybody.

        Lowered, what is taken stays taken, and nothing is granted until enough was given back; raised, those are woken whose
        turn it is. `InvalidArgument` for the number.
        """
        number = whole(permits, "permits", op="set permits", name=self._name)
        ask(_native.semaphore_set_permits, _native.submit_semaphore_set_permits, self._handle, number)

    def inspect(self) -> SemaphoreInspection:
        """How many permits there are and how many are available, as the server says now."""
        seen = ask(_native.semaphore_inspect, _native.submit_semaphore_inspect, self._handle)
        return SemaphoreInspection(*seen)

    def _acquire(
        self, got: list[_native.Grant], permits: int, wait: int | None, lease: int | None, scope: bool
    ) -> None:
        caller = running() if "greenlet" in MODULES else None
        if caller is None:
            _native.semaphore_acquire(got, self, permits, wait, lease, scope)
        else:
            submit = _native.submit_semaphore_acquire
            self._acquired_among_greenlets(caller, got, scope, submit, permits, wait, lease)

    def _extend(self, lease: Seconds, number: int | None) -> None:
        ms = milliseconds(lease, "lease", op="extend", name=self._name)
        ask(_native.semaphore_extend, _native.submit_semaphore_extend, self._handle, running_id(), number, ms)
