"""What the clients of threads and of tasks share, and what becomes of one that is forgotten.

How a client makes the objects of a primitive stands beside these.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from typing import Any, ClassVar, NoReturn, SupportsIndex, TypeVar

from . import _log, _native
from ._shown import shown
from ._stats import Stats

_M = TypeVar("_M", bound=Callable[..., Any])


def of_client(method: _M) -> _M:
    """Python's own errors about arguments name a function by its class. Users know the one that they were given."""
    method.__qualname__ = f"Client.{method.__name__}"
    return method


class OpenedClient:
    """A client as `connect` made it."""

    _label: ClassVar[str]

    @of_client
    def __init__(self, handle: _native.ClientHandle) -> None:
        self._handle = handle
        self._number = handle.handle
        self._closed = False
        self._process = os.getpid()

    @of_client
    def stats(self) -> Stats:
        """What it has counted since it was opened. No I/O; also when it is closed."""
        return Stats._of(self._number)

    @property
    def closed(self) -> bool:
        """Whether `close` was called."""
        return self._closed

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        raise not_copied(self)

    def _over(self, wait: bool = True) -> None:
        """It is closed, or nobody can close it any more."""
        if not self._closed:
            self._closed = True
            if self._process == os.getpid():
                _log.closed(wait)

    def __del__(self) -> None:
        # Not built completely, closed, or the copy that a fork made: nothing of ours to end.
        if getattr(self, "_process", None) != os.getpid() or self._closed:
            return
        try:
            text = f"unclosed {self!r}: its locks are no longer renewed"
            warnings.warn(text, ResourceWarning, stacklevel=2, source=self)
        finally:  # a program may turn warnings into exceptions
            _native.client_close(self._number, False)
            self._over(wait=False)

    @shown
    def __repr__(self) -> str:
        return f"<{self._label}{' closed' if self._closed else ''}>"


def not_copied(what: object) -> TypeError:
    """The error for `copy` and `pickle`: a copy would end what the original holds."""
    kind = type(what)._label  # type: ignore[attr-defined]
    return TypeError(f"a {kind} can be neither copied nor pickled: share the object, or connect again")
