"""The lock, with the meaning that `threading.RLock` gives to its methods."""

from __future__ import annotations

from . import _native
from ._convert import utf8
from ._greenlets import ask, running
from ._held import Held
from ._hold import Inspection
from ._named import NamedLock
from ._owned import OwnedHold
from ._reentrant import Reentrant


class Lock(Reentrant[Held, OwnedHold], NamedLock):
    """A lock of one name, made by `Client.lock`. May be shared between threads and kept for as long as the client.

    The holder is the *thread*, under gevent the *greenlet*: it may acquire again (unless `reentrant=False`), must release as
    often, and nobody else can. Two `Lock` objects of one client and name are the same lock, so a lock may be made anew to
    release it. When the holder ends, renewal stops, and the lease runs out.
    """

    _label = "libdlock.Lock"
    _held_class = Held
    _owned_class = OwnedHold
    _native_acquire = _native.lock_acquire
    _native_release = _native.lock_release
    _native_take = _native.lock_take
    _native_extend = _native.lock_extend
    _native_hold_count = _native.lock_hold_count
    _submit_acquire = _native.submit_lock_acquire
    _submit_release = _native.submit_lock_release
    _submit_take = _native.submit_lock_take
    _submit_extend = _native.submit_lock_extend

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
