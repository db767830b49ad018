"""What the counting semaphores of threads and of tasks share: how they are made, and what the server says of one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Generic, NoReturn, TypeVar

from . import _native
from ._convert import Seconds, acquire_wait_ms, name_bytes, whole
from ._opened import OpenedClient, of_client
from ._unheld import UnheldObject


@dataclass(frozen=True, slots=True)
class CountingSemaphoreInspection:
    """What the server said about a counting semaphore at one instant; it may have changed since."""

    # <api:counting-semaphore-inspection> written by `python3 api/write.py` from api/records.json
    exists: bool
    """Whether the semaphore is there; the first release makes one that is not."""
    available: int
    """How many permits are available: negative after more were taken away than there were, 0 when the semaphore is
    not there.
    """
    queued: int
    """How many processes stand in the queue."""
    # </api:counting-semaphore-inspection>


_LEASED = "`client.semaphore(name, permits)`, whose permits are held, leased and lost"


class NamedCountingSemaphore(UnheldObject):
    """A counting semaphore of one name."""

    # What the other semaphore and Redisson's call it.
    _elsewhere: ClassVar = {
        **dict.fromkeys(
            ("available", "available_permits", "availablePermits"), "`slots.inspect().available`"
        ),
        **dict.fromkeys(("drain_permits", "drainPermits"), "`slots.drain()`"),
        **dict.fromkeys(("reduce_permits", "reducePermits"), "`slots.add_permits(-n)`"),
        "addPermits": "`slots.add_permits(n)`",
        "tryAcquire": "`slots.try_acquire(n)`",
        **dict.fromkeys(("trySetPermits", "set_permits"), "`slots.try_set_permits(n)`"),
        **dict.fromkeys(("take", "held", "extend", "hold_count", "lost"), _LEASED),
    }

    def __init__(self, client: OpenedClient, name: str) -> None:
        handle = _native.counting_semaphore_open(client._number, name_bytes(name, op="counting semaphore"))
        super().__init__(client, name, handle)

    def _permits(self, n: int, op: str) -> int:
        return whole(n, "n", op=op, name=self._name)

    def _wanted(self, n: int, blocking: bool, timeout: Seconds | None) -> tuple[int, int | None]:
        """What an acquire asks for, for the core."""
        if isinstance(n, bool):
            raise TypeError(
                "n is the number of permits and must be int, not bool: use acquire(blocking=False)"
            )
        return self._permits(n, "acquire"), acquire_wait_ms(blocking, timeout, self._name)

    def _no_scope(self) -> NoReturn:
        text = "permits of a counting semaphore belong to nobody, so there is nothing that `with` could end"
        raise TypeError(f"{text}: use acquire() and release(), or {_LEASED}")


_S = TypeVar("_S", bound=NamedCountingSemaphore)


class OpensCountingSemaphores(OpenedClient, Generic[_S]):
    """A client's way to its counting semaphores."""

    _counting_semaphore_class: type[_S]

    @of_client
    def counting_semaphore(self, name: str) -> _S:
        """The counting semaphore of that name. Costs no I/O. It has no permits until `try_set_permits` makes it.

        It is for those who share it with Redisson's `RSemaphore`. All others are better served by `semaphore`, whose permits
        come back when their holder dies.
        """
        return self._counting_semaphore_class(self, name)
