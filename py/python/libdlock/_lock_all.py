"""Several locks as one, with the meaning that `threading.RLock` gives to its methods."""

from __future__ import annotations

from . import _native
from ._held import Held
from ._lock_set import NamedLockAll, SetView
from ._owned import OwnedHold
from ._reentrant import Reentrant


class HeldAll(Held, SetView):
    """One acquisition of several locks. What `with client.lock_all([...]) as held` gives.

    It is lost when one of the locks is, which `lost_name` names. The others are held until it is released.
    """

    __slots__ = ()

    _label = "libdlock.HeldAll"


class OwnedHoldAll(OwnedHold, SetView):
    """One acquisition of several locks that belongs to this object, made by `take`. It cannot be detached."""

    _label = "libdlock.OwnedHoldAll"


class LockAll(Reentrant[HeldAll, OwnedHoldAll], NamedLockAll):
    """The locks of several names as one, made by `Client.lock_all`, used as a `Lock` is.

    The holder is the *thread*, under gevent the *greenlet*: it may acquire again (unless `reentrant=False`), and must
    release as often. When it ends, renewal stops, and the leases run out. May be shared between threads and kept for as
    long as the client.

        with client.lock_all(["account/7", "account/42"]) as held:
            move(10, fences=held.tokens)
    """

    _label = "libdlock.LockAll"
    _held_class = HeldAll
    _owned_class = OwnedHoldAll
    _native_acquire = _native.lock_all_acquire
    _native_release = _native.lock_all_release
    _native_take = _native.lock_all_take
    _native_extend = _native.lock_all_extend
    _native_hold_count = _native.lock_all_hold_count
    _submit_acquire = _native.submit_lock_all_acquire
    _submit_release = _native.submit_lock_all_release
    _submit_take = _native.submit_lock_all_take
    _submit_extend = _native.submit_lock_all_extend
