"""What the read-write locks of threads and of tasks share: how they are made, and what the server says of one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Generic, NoReturn, SupportsIndex, TypeVar, cast

from . import _native
from ._convert import Seconds, name_bytes, optional_ms
from ._elsewhere import SaysElsewhere
from ._named import NamedObject
from ._opened import OpenedClient, not_copied, of_client
from ._shown import shown

_Self = TypeVar("_Self", bound="NamedSide")

#: What other read-write locks call their sides and what is done with them, and what it is here.
_ELSEWHERE = {
    **dict.fromkeys(
        ("gen_rlock", "read_lock", "reader_lock", "reader", "rlock", "r_lock"), "`with lock.read:`"
    ),
    **dict.fromkeys(
        ("gen_wlock", "write_lock", "writer_lock", "writer", "wlock", "w_lock"), "`with lock.write:`"
    ),
    **dict.fromkeys(("acquire_read", "acquire_read_lock", "r_acquire"), "`lock.read.acquire()`"),
    **dict.fromkeys(("release_read", "release_read_lock", "r_release"), "`lock.read.release()`"),
    **dict.fromkeys(("acquire_write", "acquire_write_lock", "w_acquire"), "`lock.write.acquire()`"),
    **dict.fromkeys(("release_write", "release_write_lock", "w_release"), "`lock.write.release()`"),
    **{
        verb: f"`lock.read.{verb}` or `lock.write.{verb}`"
        for verb in ("acquire", "release", "take", "extend", "held", "hold_count")
    },
    "downgrade": "`lock.write.downgrade()`",
    "locked": "`lock.inspect()`",
}
#: What a lock has, and a side has not.
_OF_BOTH_SIDES = {
    **dict.fromkeys(("locked", "inspect"), "`lock.inspect()` of the read-write lock"),
    "force_release": "`lock.force_release()` of the read-write lock",
    **dict.fromkeys(("detach", "attach"), "`client.lock(name)`: a hold of a side cannot be detached"),
}


@dataclass(frozen=True, slots=True)
class RwLockInspection:
    """What the server said about a read-write lock at one instant; it may have changed since. Durations are in seconds."""

    # <api:rw-lock-inspection> written by `python3 api/write.py` from api/records.json
    writer: str | None
    """The owner of the write side, `<client uuid>:<n>:write` (Redisson's or ours); `None` when nobody writes."""
    ours: bool
    """Whether that is this client."""
    readers: int
    """How many holds of the read side there are; readers of one process that share one count as one."""
    ttl: float | None
    """What is left of the longest lease; `None` when nobody holds it, and for a foreign key that never expires."""
    token: int | None
    """The last fencing token given for this name, as long as the server remembers it."""
    queued: int
    """How many processes stand in the queue."""
    # </api:rw-lock-inspection>


class NamedSide(NamedObject, SaysElsewhere):
    """One side of a read-write lock."""

    _elsewhere = _OF_BOTH_SIDES
    _other: NamedSide | None = None

    def __new__(
        cls: type[_Self],
        client: OpenedClient,
        name: str,
        write: bool,
        lease: Seconds | None,
        watchdog_lease: Seconds | None,
        wait: Seconds | None,
        reentrant: bool | None,
        shared_age: Seconds | None,
    ) -> _Self:
        op = "rw_lock"
        encoded = name_bytes(name, op=op)
        waiting = optional_ms(wait, "wait", op=op, name=name)
        lasting = optional_ms(lease, "lease", op=op, name=name)
        renewed = optional_ms(watchdog_lease, "watchdog_lease", op=op, name=name)
        age = optional_ms(shared_age, "shared_age", op=op, name=name)
        if reentrant is not None and not isinstance(reentrant, bool):
            raise TypeError(f"reentrant must be bool, not {type(reentrant).__name__}")
        handle = _native.rw_lock_open(
            client._number, encoded, write, lasting, renewed, waiting, reentrant, age
        )
        self = super().__new__(cls, handle)
        self._client = client  # a side keeps its client open
        self._name = name
        self._wait = waiting
        # Instances of both sides are held apart; see `Holder`.
        self._kind = "write side" if write else "read side"
        return self

    def _goes_on_as(self, reads: NamedSide) -> None:
        self._other = reads

    @property
    def _reads(self: _Self) -> _Self:
        """What a hold of this side becomes when it is downgraded. Of the read side itself, which the core refuses."""
        return self if self._other is None else cast(_Self, self._other)

    def _grant_of(self, holder: int) -> _native.Grant | None:
        return _native.rw_lock_grant(self._handle, holder)

    def __call__(self, *arguments: object, **named: object) -> NoReturn:
        side = self._kind.split()[0]
        raise TypeError(f"`{side}` is no method: use `with lock.{side}:` or `lock.{side}.acquire()`")

    @shown
    def __repr__(self) -> str:
        return f"<{self._label} {self._name!r} {self._kind.split()[0]}>"


_Side = TypeVar("_Side", bound=NamedSide)


class NamedRwLock(SaysElsewhere, Generic[_Side]):
    """Both sides of one name."""

    _label: str
    _elsewhere = _ELSEWHERE
    _side_class: type[_Side]

    def __init__(self, client: OpenedClient, name: str, *options: Any) -> None:
        self._name = name
        self._read = self._side_class(client, name, False, *options)
        self._write = self._side_class(client, name, True, *options)
        self._write._goes_on_as(self._read)

    @property
    def name(self) -> str:
        """The name, without the client's key prefix."""
        return self._name

    @property
    def read(self) -> _Side:
        """The side that any number may hold at a time, while nobody else writes."""
        return self._read

    @property
    def write(self) -> _Side:
        """The side that one may hold at a time, while nobody else reads."""
        return self._write

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        raise not_copied(self)

    @shown
    def __repr__(self) -> str:
        return f"<{self._label} {self._name!r}>"

    def _no_scope(self, scope: str) -> NoReturn:
        raise TypeError(
            f"a read-write lock is held by one of its sides: use `{scope} lock.read:` or `{scope} lock.write:`"
        )


_R = TypeVar("_R", bound=NamedRwLock[Any])


class OpensRwLocks(OpenedClient, Generic[_R]):
    """A client's way to its read-write locks."""

    _rw_lock_class: type[_R]

    @of_client
    def rw_lock(
        self,
        name: str,
        *,
        lease: Seconds | None = None,
        watchdog_lease: Seconds | None = None,
        wait: Seconds | None = None,
        reentrant: bool | None = None,
        shared_age: Seconds | None = None,
    ) -> _R:
        """The read-write lock of that name. Costs no I/O.

        With `lease=None` either side is renewed for as long as it is held: with `watchdog_lease`, by default the client's
        `lease` option, every third of it. A given lease is not renewed. Either is 0.1 s to 24 h, and only one is given.
        `wait` is what `with` waits at most: `None` for ever, 0 not at all. With `reentrant=False` a holder may not acquire
        again a side that it holds. Readers of this client join a hold of the server that is at most `shared_age` old,
        0 to 10 s, by default 10 ms; those with a given lease never do.
        """
        return self._rw_lock_class(self, name, lease, watchdog_lease, wait, reentrant, shared_age)
