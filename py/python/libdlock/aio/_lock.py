"""The lock, with the methods of `libdlock.Lock` as coroutines."""

from __future__ import annotations

from .. import _native
from .._convert import utf8
from .._hold import Inspection
from .._named import NamedLock
from ._held import Held
from ._holder import running_holder
from ._owned import OwnedHold
from ._port import running_port
from ._reentrant import Reentrant


class Lock(Reentrant[Held, OwnedHold], NamedLock):
    """A lock of one name, made by `Client.lock`. May be shared between tasks, also of several loops, and kept for as long as
    the client.

    The holder is the *task*: it may acquire again (unless `reentrant=False`), must release as often, and nobody else can.
    Two `Lock` objects of one client and name are the same lock, so a lock may be made anew to release it. When the holding
    task ends, renewal stops, and the lease runs out.

    A task that is cancelled while it waits here holds nothing that it did not hold before.
    """

    _label = "libdlock.aio.Lock"
    _held_class = Held
    _owned_class = OwnedHold
    _native_hold_count = _native.lock_hold_count
    _submit_acquire = _native.submit_lock_acquire
    _submit_release = _native.submit_lock_release
    _submit_take = _native.submit_lock_take
    _submit_extend = _native.submit_lock_extend

    async def locked(self) -> bool:
        """Whether anybody holds the lock, as the server says now."""
        return (await self.inspect()).holder is not None

    async def inspect(self) -> Inspection:
        """Who holds the lock, for how long, and the last token, as the server says now."""
        return Inspection(*await running_port().call(_native.submit_lock_inspect, self._handle))

    async def force_release(self) -> bool:
        """Frees the lock whoever holds it; says whether anybody did.

        A hold of this client is lost when this returns; another client is sent a message and looks at once; until then
        only its fencing token protects the resource.

        When the task is cancelled while it waits, it may have been freed or not.
        """
        freed: bool = await running_port().call(_native.submit_lock_force_release, self._handle)
        return freed

    async def detach(self) -> str:
        """Lets go of this task's hold without freeing the lock, and returns a text for `attach` elsewhere.

        The lock stays taken for a lease that starts anew, and is not renewed until it is attached. `InvalidArgument` when
        this task holds it more than once. A task that is cancelled while it waits may have let go already: nobody has the
        text then, and the lease runs out.
        """
        holder = running_holder()
        text: str = await running_port().call(_native.submit_lock_detach, self._handle, holder.id)
        holder.left(self)
        return text

    async def attach(self, detached: str) -> Held:
        """Makes this task the holder of what `detach` let go of, in this process or another, with the same token.

        A task that is cancelled while it waits does not hold it, and may have used the text up: then the lock was freed.
        """
        utf8(detached, "detached", op="attach")
        holder = running_holder()
        grant = await running_port().call(_native.submit_lock_attach, self._handle, holder.id, detached)
        return Held(self, self._got(holder, grant))
