"""What locks and semaphores share, of threads and of tasks; and how a client makes locks."""

from __future__ import annotations

from typing import ClassVar, Generic, NoReturn, SupportsIndex, TypeVar

from . import _native
from ._convert import Seconds, name_bytes, optional_ms
from ._log import logger
from ._opened import OpenedClient, not_copied, of_client
from ._shown import shown

_Self = TypeVar("_Self", bound="NamedLock")


class NamedObject(_native.ScopedHandle):
    """What is held, of one name. The native base keeps its handle and gives it back when the object goes."""

    _label: ClassVar[str]
    _kind: str
    _client: OpenedClient
    _name: str
    _wait: int | None

    @property
    def name(self) -> str:
        """The name, without the client's key prefix."""
        return self._name

    def _grant_of(self, holder: int) -> _native.Grant | None:
        """What the holder has, unless it is lost; of permits its latest hold."""
        raise NotImplementedError

    def _release_failed(self, error: BaseException) -> None:
        """For the end of a `with` whose body raised too: the body's exception is the one to see."""
        if not isinstance(error, Exception):  # Ctrl-C, or a cancellation, during the release
            raise error
        # Its text: a record that a handler keeps would keep the frames of the error, and with them lock and client.
        logger.warning("the release at the end of a failed `with` failed too: %s", str(error))

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        raise not_copied(self)

    @shown
    def __repr__(self) -> str:
        return f"<{self._label} {self._name!r}>"


class NamedLock(NamedObject):
    """A lock of one name."""

    _kind = "lock"

    def __new__(
        cls: type[_Self],
        client: OpenedClient,
        name: str,
        lease: Seconds | None,
        watchdog_lease: Seconds | None,
        wait: Seconds | None,
        reentrant: bool | None,
    ) -> _Self:
        encoded = name_bytes(name, op="lock")
        waiting = optional_ms(wait, "wait", op="lock", name=name)
        lasting = optional_ms(lease, "lease", op="lock", name=name)
        renewed = optional_ms(watchdog_lease, "watchdog_lease", op="lock", name=name)
        if reentrant is not None and not isinstance(reentrant, bool):
            raise TypeError(f"reentrant must be bool, not {type(reentrant).__name__}")
        handle = _native.lock_open(client._number, encoded, lasting, renewed, waiting, reentrant)
        self = super().__new__(cls, handle)
        self._client = client  # a lock keeps its client open
        self._name = name
        self._wait = waiting
        return self

    def _grant_of(self, holder: int) -> _native.Grant | None:
        return _native.lock_grant(self._handle, holder)


_L = TypeVar("_L", bound=NamedLock)


class OpensLocks(OpenedClient, Generic[_L]):
    """A client's way to its locks."""

    _lock_class: type[_L]

    @of_client
    def lock(
        self,
        name: str,
        *,
        lease: Seconds | None = None,
        watchdog_lease: Seconds | None = None,
        wait: Seconds | None = None,
        reentrant: bool | None = None,
    ) -> _L:
        """The lock of that name. Costs no I/O.

        With `lease=None` the lock is renewed for as long as it is held: with `watchdog_lease`, by default the client's
        `lease` option, every third of it. A given lease is not renewed. Either is 0.1 s to 24 h, and only one is given.
        `wait` is what `with` waits at most: `None` for ever, 0 not at all.
        """
        return self._lock_class(self, name, lease, watchdog_lease, wait, reentrant)
