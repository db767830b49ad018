"""The lock, with the meaning that `threading.RLock` gives to its methods."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import _native
from ._convert import Seconds, acquire_wait_ms, milliseconds
from ._errors import AcquireTimeout
from ._held import Held
from ._hold import Inspection, is_going_on
from ._named import NamedLock

if TYPE_CHECKING:
    from ._client import Client


class Lock(NamedLock):
    """A lock of one name, made by `Client.lock`. May be shared between threads and kept for as long as the client.

    The holder is the *thread*: it may acquire again (unless `reentrant=False`), must release as often, and nobody else can.
    Two `Lock` objects of one client and name are the same lock. When the last of them is collected while it is held, or the
    holding thread ends, renewal stops, and the lease runs out.
    """

    _client: Client
    _label = "libdlock.Lock"

    def __enter__(self) -> Held:
        """Acquires within the lock's `wait` (for ever when it has none), else raises `AcquireTimeout`."""
        got: list[_native.Grant] = []
        try:
            _native.lock_acquire(got, self, self._wait, None)
            return Held(self, got[0])
        except BaseException:
            self._undo(got)
            raise

    # Native: an interrupt that arrives as a Python function starts would skip its body, and with it the release.
    __exit__ = _native.LockHandle._exit

    def acquire(self, blocking: bool = True, timeout: Seconds = -1) -> bool:
        """Acquires and returns `True`, or `False` when that was not possible in time.

        `timeout` is in seconds; -1 waits for ever. The lock's `wait` plays no part: it belongs to `with`. Raises
        `InvalidArgument` for a timeout with `blocking=False` or of more than 24 h, `Deadlock` when the thread already holds
        a lock that is not re-entrant, `LockLost` when it has lost this lock and not released it yet, `ConnectionFailed` and
        its kin when the server cannot be asked.
        """
        waiting = acquire_wait_ms(blocking, timeout, self._name)
        got: list[_native.Grant] = []
        try:
            _native.lock_acquire(got, self, waiting, None)
        except BaseException as error:
            self._undo(got)
            if isinstance(error, AcquireTimeout):
                return False
            raise
        return True

    def release(self) -> None:
        """Gives up one level; the last one frees the lock. `NotHeld` when this thread does not hold it, or lost it."""
        _native.lock_release(self)

    def extend(self, lease: Seconds) -> None:
        """Makes this thread's hold last `lease` from now, or as long as it did if that is longer. `NotHeld` without one."""
        ms = milliseconds(lease, "lease", op="extend", name=self._name)
        _native.lock_extend(self._handle, _native.thread_holder(), ms)

    @property
    def held(self) -> Held | None:
        """This thread's hold, or `None`. No I/O."""
        grant = _native.lock_grant(self._handle, _native.thread_holder())
        return None if grant is None else Held(self, grant)

    @property
    def hold_count(self) -> int:
        """How many levels this thread holds. No I/O."""
        return _native.lock_hold_count(self._handle, _native.thread_holder())

    def locked(self) -> bool:
        """Whether anybody holds the lock, as the server says now."""
        return self.inspect().holder is not None

    def inspect(self) -> Inspection:
        """Who holds the lock, for how long, and the last token, as the server says now."""
        return Inspection(*_native.lock_inspect(self._handle))

    def force_release(self) -> bool:
        """Frees the lock whoever holds it; says whether anybody did. The holder's `lost` is set at its next renewal."""
        return _native.lock_force_release(self._handle)

    def detach(self) -> str:
        """Lets go of this thread's hold without freeing the lock, and returns a text for `attach` elsewhere.

        The lock stays taken for a lease that starts anew, and is not renewed until it is attached. `InvalidArgument` when
        this thread holds it more than once.
        """
        return _native.lock_detach(self)

    def attach(self, detached: str) -> Held:
        """Makes this thread the holder of what `detach` let go of, in this process or another, with the same token."""
        got: list[_native.Grant] = []
        try:
            _native.lock_attach(got, self, detached)
            return Held(self, got[0])
        except BaseException:
            self._undo(got)
            raise

    def _undo(self, got: list[_native.Grant]) -> None:
        """Ctrl-C may come after the grant and before the caller has it: `got` tells that there is one to give back."""
        if got:
            self.release()

    def _is_held(self) -> bool:
        grant = _native.lock_grant(self._handle, _native.thread_holder())
        return grant is not None and is_going_on(grant)
