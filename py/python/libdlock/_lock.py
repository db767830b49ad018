"""The lock, with the meaning that `threading.RLock` gives to its methods."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

from . import _native
from ._convert import FOR_EVER, OWN_LEASE, Seconds, lease_ms, milliseconds, name_bytes, wait_ms
from ._errors import AcquireTimeout, InvalidArgument
from ._held import Held, Inspection
from ._log import logger

if TYPE_CHECKING:
    from ._client import Client

_ONCE = 0


class Lock(_native.Scope):
    """A lock of one name, made by `Client.lock`. May be shared between threads and kept for as long as the client.

    The holder is the *thread*: it may acquire again (unless `reentrant=False`), must release as often, and nobody else can.
    Two `Lock` objects of one client and name are the same lock. When the last of them is collected while it is held, or the
    holding thread ends, renewal stops, and the lease runs out.
    """

    # `__exit__` is the native base's: an interrupt that arrives as a Python function starts would skip its body, and with
    # it the release. The base keeps the lock's handle and gives it back when the object goes.

    _client: Client
    _name: str
    _wait: int

    def __new__(
        cls, client: Client, name: str, lease: Seconds | None, wait: Seconds | None, reentrant: bool | None
    ) -> Lock:
        encoded = name_bytes(name)
        waiting = wait_ms(wait, op="lock", name=name)
        handle = _native.lock_open(client._handle, encoded, lease_ms(lease, op="lock", name=name), reentrant)
        self = super().__new__(cls, handle)
        self._client = client  # a lock keeps its client open
        self._name = name
        self._wait = waiting
        return self

    @property
    def name(self) -> str:
        """The name, without the client's key prefix."""
        return self._name

    def __enter__(self) -> Held:
        """Acquires within the lock's `wait` (for ever when it has none), else raises `AcquireTimeout`."""
        got: list[_native.Grant] = []
        try:
            _native.lock_acquire(got, self, _native.thread_holder(), self._wait, OWN_LEASE)
            return Held(self, got[0])
        except BaseException:
            self._undo(got)
            raise

    def acquire(self, blocking: bool = True, timeout: Seconds = -1) -> bool:
        """Acquires and returns `True`, or `False` when that was not possible in time.

        `timeout` is in seconds; -1 waits for ever. The lock's `wait` plays no part: it belongs to `with`. Raises
        `InvalidArgument` for a timeout with `blocking=False`, `Deadlock` when the thread already holds a lock that is not
        re-entrant, `ConnectionFailed` and its kin when the server cannot be asked.
        """
        waiting = self._acquire_wait(blocking, timeout)
        got: list[_native.Grant] = []
        try:
            _native.lock_acquire(got, self, _native.thread_holder(), waiting, OWN_LEASE)
        except BaseException as error:
            self._undo(got)
            if isinstance(error, AcquireTimeout):
                return False
            raise
        return True

    def release(self) -> None:
        """Gives up one level; the last one frees the lock. `NotHeld` when this thread does not hold it, or lost it."""
        _native.lock_release(self, _native.thread_holder())

    def extend(self, lease: Seconds) -> None:
        """Makes this thread's hold last `lease` from now, or as long as it did if that is longer. `NotHeld` without one."""
        ms = milliseconds(lease, "lease", op="extend", name=self._name)
        _native.lock_extend(self.handle, _native.thread_holder(), ms)

    @property
    def held(self) -> Held | None:
        """This thread's hold, or `None`. No I/O."""
        grant = _native.lock_grant(self.handle, _native.thread_holder())
        return None if grant is None else Held(self, grant)

    @property
    def hold_count(self) -> int:
        """How many levels this thread holds. No I/O."""
        return _native.lock_hold_count(self.handle, _native.thread_holder())

    def locked(self) -> bool:
        """Whether anybody holds the lock, as the server says now."""
        return self.inspect().holder is not None

    def inspect(self) -> Inspection:
        """Who holds the lock, for how long, and the last token, as the server says now."""
        return Inspection(*_native.lock_inspect(self.handle))

    def force_release(self) -> bool:
        """Frees the lock whoever holds it; says whether anybody did. The holder's `lost` is set at its next renewal."""
        return _native.lock_force_release(self.handle)

    def detach(self) -> str:
        """Lets go of this thread's hold without freeing the lock, and returns a text for `attach` elsewhere.

        The lock stays taken for a lease that starts anew, and is not renewed until it is attached. `InvalidArgument` when
        this thread holds it more than once.
        """
        return _native.lock_detach(self, _native.thread_holder())

    def attach(self, detached: str) -> Held:
        """Makes this thread the holder of what `detach` let go of, in this process or another, with the same token."""
        got: list[_native.Grant] = []
        try:
            _native.lock_attach(got, self, _native.thread_holder(), detached)
            return Held(self, got[0])
        except BaseException:
            self._undo(got)
            raise

    def _undo(self, got: list[_native.Grant]) -> None:
        """Ctrl-C may come after the grant and before the caller has it: `got` tells that there is one to give back."""
        if got:
            self.release()

    def _acquire_wait(self, blocking: bool, timeout: Seconds) -> int:
        for_ever = isinstance(timeout, int | float) and timeout == -1
        if blocking:
            return FOR_EVER if for_ever else milliseconds(timeout, "timeout", op="acquire", name=self._name)
        if not for_ever:
            raise InvalidArgument(
                f"timeout: {timeout!r} given with blocking=False, which does not wait",
                op="acquire",
                name=self._name,
            )
        return _ONCE

    def _release_failed(self, error: BaseException) -> None:
        """Called by the base's `__exit__` when the `with` body raised too: the body's exception is the one to see."""
        if not isinstance(error, Exception):  # Ctrl-C during the release
            raise error
        logger.warning("the release at the end of a failed `with` failed too: %s", error)

    def __del__(self) -> None:
        if not self.left_held:
            return
        held = self.held
        # A loss has been said elsewhere.
        if held is not None and not held.lost.is_set():
            text = f"{self!r} collected while held: its lease is not renewed any more"
            warnings.warn(text, ResourceWarning, stacklevel=2, source=self)

    def __repr__(self) -> str:
        return f"<libdlock.Lock {self._name!r}>"
