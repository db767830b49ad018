"""What the sets of locks of threads and of tasks share: how they are made, and what a hold of one says."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar, Generic, NoReturn, TypeVar

from . import _native
from ._convert import Seconds, name_bytes, optional_ms
from ._elsewhere import SaysElsewhere
from ._hold import HoldView
from ._named import NamedObject
from ._opened import OpenedClient, of_client

_Self = TypeVar("_Self", bound="NamedLockAll")

_OP = "lock all"
_CALL = 'client.lock_all(["a", "b"])'
#: As many names as a text for people shows.
_SHOWN = 3


class SetView(HoldView):
    """What a hold of several locks has besides what every hold has."""

    __slots__ = ()

    @property
    def tokens(self) -> dict[str, int]:
        """The fencing token of each lock by its name, as it was given; `token` is 0, for there is not one for all.

        Send each along with the writes to what its lock protects.
        """
        return dict(_native.held_tokens(self._grant.handle))

    @property
    def lost_name(self) -> str | None:
        """The name of the lock that was lost, the first of them if it was more than one; `None` while none is."""
        return _native.held_lost_member(self._grant.handle)


class NamedLockAll(NamedObject, SaysElsewhere):
    """The locks of several names as one."""

    # What a lock has, and a set has not.
    _elsewhere: ClassVar = {
        **{
            verb: f"`client.lock(name).{verb}()`, for each of the names"
            for verb in ("locked", "inspect", "force_release")
        },
        **dict.fromkeys(
            ("detach", "attach"),
            "`client.lock(name)`, for each of the names: what is held as one cannot be detached",
        ),
    }
    _names: list[str]

    def __new__(
        cls: type[_Self],
        client: OpenedClient,
        names: Iterable[str],
        lease: Seconds | None,
        watchdog_lease: Seconds | None,
        wait: Seconds | None,
        reentrant: bool | None,
    ) -> _Self:
        encoded = _encoded(names)
        waiting = optional_ms(wait, "wait", op=_OP)
        lasting = optional_ms(lease, "lease", op=_OP)
        renewed = optional_ms(watchdog_lease, "watchdog_lease", op=_OP)
        if reentrant is not None and not isinstance(reentrant, bool):
            raise TypeError(f"reentrant must be bool, not {type(reentrant).__name__}")
        handle = _native.lock_all_open(client._number, encoded, lasting, renewed, waiting, reentrant)
        self = super().__new__(cls, handle)
        self._client = client  # a set keeps its client open
        self._names = _native.lock_all_names(handle)
        self._wait = waiting
        # Sets of the same names are held together; see `Holder`. No name has a NUL.
        self._kind = "\0".join(["locks", *self._names])
        more = len(self._names) - _SHOWN
        self._name = ", ".join(self._names[:_SHOWN]) + (f" and {more} more" if more > 0 else "")
        return self

    @property
    def name(self) -> str:
        """The names in one text, for people: the first three of them, and how many more there are."""
        return self._name

    @property
    def names(self) -> list[str]:
        """The names, each once, in the order in which the locks are waited for."""
        return list(self._names)

    def _grant_of(self, holder: int) -> _native.Grant | None:
        return _native.lock_all_grant(self._handle, holder)


def _encoded(names: Iterable[str]) -> list[bytes]:
    if isinstance(names, str | bytes):
        raise TypeError(f"names must be a list of names, not one {type(names).__name__}: {_CALL}")
    try:
        each = iter(names)
    except TypeError:
        raise TypeError(f"names must be a list of names, not {type(names).__name__}: {_CALL}") from None
    return [name_bytes(name, op=_OP) for name in each]


_A = TypeVar("_A", bound=NamedLockAll)


class OpensLockAlls(OpenedClient, Generic[_A]):
    """A client's way to several locks as one."""

    _lock_all_class: type[_A]

    @of_client
    def lock_all(
        self,
        names: Iterable[str],
        *others: NoReturn,
        lease: Seconds | None = None,
        watchdog_lease: Seconds | None = None,
        wait: Seconds | None = None,
        reentrant: bool | None = None,
    ) -> _A:
        """The locks of these names, 1 to 100 different ones, as one: all of them are held, or none. Costs no I/O.

        Their order does not matter: sets that overlap never block each other for ever. `client.lock` of one of the names and
        the set exclude each other. `wait` counts for all together; it and the rest are as for `lock`, for each of them.
        """
        if others:
            raise TypeError(f"lock_all takes one list of names: {_CALL}")
        return self._lock_all_class(self, names, lease, watchdog_lease, wait, reentrant)
