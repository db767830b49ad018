"""What the locks of threads and of tasks share: how they are made, and what becomes of one that is forgotten."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, ClassVar

from . import _native
from ._convert import Seconds, name_bytes, optional_ms
from ._log import logger

if TYPE_CHECKING:
    from typing_extensions import Self

    from ._opened import OpenedClient


class NamedLock(_native.LockHandle):
    """A lock of one name. The native base keeps its handle and gives it back when the object goes."""

    _label: ClassVar[str]
    _client: OpenedClient[Any, Any]
    _name: str
    _wait: int | None

    def __new__(
        cls,
        client: OpenedClient[Any, Any],
        name: str,
        lease: Seconds | None,
        wait: Seconds | None,
        reentrant: bool | None,
    ) -> Self:
        encoded = name_bytes(name, op="lock")
        waiting = optional_ms(wait, "wait", op="lock", name=name)
        lasting = optional_ms(lease, "lease", op="lock", name=name)
        handle = _native.lock_open(client._number, encoded, lasting, reentrant)
        self = super().__new__(cls, handle)
        self._client = client  # a lock keeps its client open
        self._name = name
        self._wait = waiting
        return self

    @property
    def name(self) -> str:
        """The name, without the client's key prefix."""
        return self._name

    def _release_failed(self, error: BaseException) -> None:
        """For the end of a `with` whose body raised too: the body's exception is the one to see."""
        if not isinstance(error, Exception):  # Ctrl-C, or a cancellation, during the release
            raise error
        logger.warning("the release at the end of a failed `with` failed too: %s", error)

    def _is_held(self) -> bool:
        """Whether what was acquired through this object is held still; a loss has been said elsewhere."""
        raise NotImplementedError

    def __del__(self) -> None:
        if self._left_held and not self._client.closed and self._is_held():
            text = f"{self!r} collected while held: its lease is not renewed any more"
            warnings.warn(text, ResourceWarning, stacklevel=2, source=self)

    def __repr__(self) -> str:
        return f"<{self._label} {self._name!r}>"
