"""What rate limiters, latches, counting semaphores and id generators share: they have a name, and nobody holds them."""

from __future__ import annotations

from typing import ClassVar, NoReturn, SupportsIndex

from . import _native
from ._elsewhere import SaysElsewhere
from ._opened import OpenedClient, not_copied
from ._shown import shown


class UnheldObject(SaysElsewhere):
    """An object of one name."""

    _label: ClassVar[str]

    def __init__(self, client: OpenedClient, name: str, handle: _native.ObjectHandle) -> None:
        self._client = client  # an object keeps its client open
        self._name = name
        self._object = handle  # kept: with it goes the handle
        self._number = handle.handle

    @property
    def name(self) -> str:
        """The name, without the client's key prefix."""
        return self._name

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        raise not_copied(self)

    @shown
    def __repr__(self) -> str:
        return f"<{self._label} {self._name!r}>"
