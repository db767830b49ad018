"""What the semaphores of threads and of tasks share: how they are made, and what the server says of one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Generic, TypeVar

from . import _native
from ._convert import Seconds, name_bytes, optional_ms, whole
from ._elsewhere import SaysElsewhere
from ._named import NamedObject
from ._opened import OpenedClient, of_client

_Self = TypeVar("_Self", bound="NamedSemaphore")


@dataclass(frozen=True, slots=True)
class SemaphoreInspection:
    """What the server said about a semaphore at one instant; it may have changed since."""

    # <api:semaphore-inspection> written by `python3 api/write.py` from api/records.json
    permits: int | None
    """How many permits there are in all; `None` when the semaphore is not there, which the first acquire changes."""
    available: int
    """How many can be acquired now, those whose lease has run out among them; negative after the number was lowered
    below what is taken.
    """
    queued: int
    """How many processes stand in the queue."""
    # </api:semaphore-inspection>


class NamedSemaphore(NamedObject, SaysElsewhere):
    """A semaphore of one name."""

    _kind = "semaphore"
    # What the semaphores of `threading`, of asyncio and of Redisson have, and a lock.
    _elsewhere: ClassVar = {
        **dict.fromkeys(
            ("locked", "_value", "value", "available", "available_permits", "availablePermits"),
            "`semaphore.inspect().available`",
        ),
        **dict.fromkeys(("try_acquire", "tryAcquire"), "`semaphore.acquire(blocking=False)`"),
        **dict.fromkeys(("add_permits", "addPermits"), "`semaphore.set_permits(n)`"),
        **dict.fromkeys(
            ("detach", "attach"),
            "`semaphore.take()`: permits cannot be detached, but any thread may release what was taken",
        ),
    }

    def __new__(
        cls: type[_Self],
        client: OpenedClient,
        name: str,
        permits: int,
        lease: Seconds | None,
        watchdog_lease: Seconds | None,
        wait: Seconds | None,
    ) -> _Self:
        op = "semaphore"
        encoded = name_bytes(name, op=op)
        number = whole(permits, "permits", op=op, name=name)
        waiting = optional_ms(wait, "wait", op=op, name=name)
        lasting = optional_ms(lease, "lease", op=op, name=name)
        renewed = optional_ms(watchdog_lease, "watchdog_lease", op=op, name=name)
        handle = _native.semaphore_open(client._number, encoded, number, lasting, renewed, waiting)
        self = super().__new__(cls, handle)
        self._client = client  # a semaphore keeps its client open
        self._name = name
        self._wait = waiting
        return self

    def _grant_of(self, holder: int) -> _native.Grant | None:
        return _native.semaphore_grant(self._handle, holder)

    def _holds_of(self, holder: int, permits: int | None) -> int:
        """How many releases of the latest hold end so many permits; one where no number is given."""
        if permits is None:
            return 1
        number = whole(permits, "n", op="release", name=self._name)
        return _native.semaphore_holds_of(self._handle, holder, number)

    def _wanted(self, permits: int, lease: Seconds | None) -> tuple[int, int | None]:
        """What an acquire asks for, for the core."""
        lasting = optional_ms(lease, "lease", op="acquire", name=self._name)
        return whole(permits, "permits", op="acquire", name=self._name), lasting


_S = TypeVar("_S", bound=NamedSemaphore)


class OpensSemaphores(OpenedClient, Generic[_S]):
    """A client's way to its semaphores."""

    _semaphore_class: type[_S]

    @of_client
    def semaphore(
        self,
        name: str,
        permits: int,
        *,
        lease: Seconds | None = None,
        watchdog_lease: Seconds | None = None,
        wait: Seconds | None = None,
    ) -> _S:
        """The semaphore of that name, of 1 to 2147483647 permits among all processes. Costs no I/O.

        `permits` counts when the first acquire makes the semaphore on the server. One that is there keeps its own number,
        which `set_permits` changes; a client that was given another one logs a warning.

        With `lease=None` permits are renewed for as long as they are held: with `watchdog_lease`, by default the client's
        `lease` option, every third of it. A given lease is not renewed. Either is 0.1 s to 24 h, and only one is given.
        `wait` is what `with` waits at most: `None` for ever, 0 not at all.
        """
        return self._semaphore_class(self, name, permits, lease, watchdog_lease, wait)
