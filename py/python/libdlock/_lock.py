"""The lock, with the meaning that `threading.RLock` gives to its methods."""

from __future__ import annotations

from . import _native
from ._by_thread import HeldByThreads
from ._convert import Seconds, acquire_wait_ms, milliseconds, utf8
from ._errors import AcquireTimeout
from ._greenlets import MODULES, Caller, ask, running, running_id
from ._held import Held
from ._hold import Inspection
from ._named import NamedLock
from ._owned import OwnedHold


class Lock(HeldByThreads, NamedLock):
    """A lock of one name, made by `Client.lock`. May be shared between threads and kept for as long as the client.

    The holder is the *thread*, under gevent the *greenlet*: it may acquire again (unless `reentrant=False`), must release as
    often, and nobody else can. Two `Lock` objects of one client and name are the same lock, so a lock may be made anew to
    release it. When the holder ends, renewal stops, and the lease runs out.
    """

    _label = "libdlock.Lock"
    _native_release = _native.lock_release
    _submit_release = _native.submit_lock_release

    def __enter__(self) -> Held:
        """Acquires within the lock's `wait` (for ever when it has none), else raises `AcquireTimeout`."""
        got: list[_native.Grant] = []
        try:
            caller = running() if "greenlet" in MODULES else None
            if caller is None:
                _native.lock_acquire(got, self, self._wait, True)
            else:
                self._acquire_among_greenlets(caller, got, self._wait, scope=True)
            return Held(self, got[0])
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
                _native.lock_acquire(got, self, waiting, False)
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
            _native.lock_release(self, None)
        else:
            self._release_among_greenlets(caller, None)

    def take(self, *, wait: Seconds | None = None) -> OwnedHold:
        """Acquires a hold that belongs to the returned object and to no thread: any thread may release it.

        `wait` is in seconds, 0 makes one attempt, and `None` means the lock's own `wait`. Raises `AcquireTimeout` when the
        lock was not free in time. A thread that already holds the lock waits for itself here.
        """
        waiting = self._wait if wait is None else milliseconds(wait, "wait", op="acquire", name=self._name)
        return self._taken(_native.lock_take, _native.submit_lock_take, waiting)

    def extend(self, lease: Seconds) -> None:
        """Makes this thread's hold last `lease` from now, or as long as it did if that is longer. `NotHeld` without one."""
        ms = milliseconds(lease, "lease", op="extend", name=self._name)
        ask(_native.lock_extend, _native.submit_lock_extend, self._handle, running_id(), ms)

    def _extend(self, lease: Seconds, number: int | None) -> None:
        self.extend(lease)

    @property
    def hold_count(self) -> int:
        """How many levels this thread holds. No I/O."""
        return _native.lock_hold_count(self._handle, running_id())

    def locked(self) -> bool:
        """Whether anybody holds the lock, as the server says now."""
        return self.inspect().holder is not None

    def inspect(self) -> Inspection:
        """Who holds the lock, for how long, and the last token, as the server says now."""
        return Inspection(*ask(_native.lock_inspect, _native.submit_lock_inspect, self._handle))

    def force_release(self) -> bool:
        """Frees the lock whoever holds it; says whether anybody did.

        A hold of this client is lost when this returns; another client is sent a message and looks at once; until then
        only its fencing token protects the resource.
        """
        freed: bool = ask(_native.lock_force_release, _native.submit_lock_force_release, self._handle)
        return freed

    def detach(self) -> str:
        """Lets go of this thread's hold without freeing the lock, and returns a text for `attach` elsewhere.

        The lock stays taken for a lease that starts anew, and is not renewed until it is attached. `InvalidArgument` when
        this thread holds it more than once.
        """
        caller = running()
        if caller is None:
            return _native.lock_detach(self._handle)
        text: str = caller.port.call(_native.submit_lock_detach, self._handle, caller.id)
        caller.left(self)
        return text

    def attach(self, detached: str) -> Held:
        """Makes this thread the holder of what `detach` let go of, in this process or another, with the same token."""
        utf8(detached, "detached", op="attach")
        got: list[_native.Grant] = []
        try:
            caller = running()
            if caller is None:
                _native.lock_attach(got, self._handle, detached)
            else:
                submit = _native.submit_lock_attach
                got.append(caller.port.call(submit, self._handle, caller.id, detached))
                caller.entered(self)
            return Held(self, got[0])
        except BaseException:
            if got:
                self._release(got[0].number)
            raise

    def _acquire_among_greenlets(
        self, caller: Caller, got: list[_native.Grant], wait: int | None, *, scope: bool
    ) -> None:
        self._acquired_among_greenlets(caller, got, scope, _native.submit_lock_acquire, wait, None)

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
