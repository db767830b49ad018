"""What the clients of threads and of tasks share: the objects they make, and what becomes of one that is forgotten."""

from __future__ import annotations

import os
import warnings
from typing import TYPE_CHECKING, ClassVar, Generic, NoReturn, SupportsIndex, TypeVar

from . import _native
from ._convert import Seconds
from ._options import Absent
from ._stats import Stats

if TYPE_CHECKING:
    from ._decision import NamedLimiter
    from ._named import NamedLock

_L = TypeVar("_L", bound="NamedLock")
_R = TypeVar("_R", bound="NamedLimiter")


class OpenedClient(Generic[_L, _R]):
    """A client as `connect` made it."""

    _label: ClassVar[str]
    _lock_class: type[_L]
    _limiter_class: type[_R]

    def __init__(self, handle: _native.ClientHandle) -> None:
        self._handle = handle
        self._number = handle.handle
        self._closed = False
        self._process = os.getpid()

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

    def rate_limiter(
        self,
        name: str,
        *,
        rate: int,
        per: Seconds,
        burst: int | None = None,
        absent: Absent = "fail",
        share_of: int | None = None,
    ) -> _R:
        """The rate limiter of that name: `rate` tokens in `per` seconds (1 us to 100 years). Costs no I/O.

        `burst` is the most tokens at once, the whole bucket; as many as `rate` by default. A rate of 0 refuses everything.

        `absent` says what is answered while the server cannot be reached: an error (`"fail"`, the default), a refusal
        (`"deny"`), a permission (`"allow"`), or one by this process's own count of one `share_of`th of the rate
        (`"local_share"`).
        """
        return self._limiter_class(self, name, rate, per, burst, absent, share_of)

    def stats(self) -> Stats:
        """What it has counted since it was opened. No I/O; also when it is closed."""
        return Stats._of(self._number)

    @property
    def closed(self) -> bool:
        """Whether `close` was called."""
        return self._closed

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        raise not_copied(self)

    def __del__(self) -> None:
        # Not built completely, closed, or the copy that a fork made: nothing of ours to end.
        if getattr(self, "_process", None) != os.getpid() or self._closed:
            return
        try:
            text = f"unclosed {self!r}: its locks are no longer renewed"
            warnings.warn(text, ResourceWarning, stacklevel=2, source=self)
        finally:  # a program may turn warnings into exceptions
            _native.client_close(self._number, False)

    def __repr__(self) -> str:
        return f"<{self._label}{' closed' if self._closed else ''}>"


def not_copied(what: object) -> TypeError:
    """The error for `copy` and `pickle`: a copy would end what the original holds."""
    kind = type(what)._label  # type: ignore[attr-defined]
    return TypeError(f"a {kind} can be neither copied nor pickled: share the object, or connect again")


# Python's own errors about arguments name a function by this. Users know the class that they were given.
for _method in (OpenedClient.lock, OpenedClient.rate_limiter, OpenedClient.stats, OpenedClient.__init__):
    _method.__qualname__ = f"Client.{_method.__name__}"
