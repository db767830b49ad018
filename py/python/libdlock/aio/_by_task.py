"""What a lock and a semaphore of tasks have in common: the ends of their scopes, and releases."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from .. import _native
from .._holder import Holder
from .._named import NamedObject
from ._block import Block, BlockEnd
from ._held import Held
from ._holder import running_holder
from ._owned import OwnedHold
from ._port import running_port

_H = TypeVar("_H", bound=Held)
_O = TypeVar("_O", bound=OwnedHold)


class HeldByTasks(NamedObject, Generic[_H, _O]):
    """What tasks hold: by themselves (`_H`), or by an object of its own (`_O`)."""

    _held_class: type[_H]
    _owned_class: type[_O]
    _submit_release: ClassVar[Callable[..., int]]

    if TYPE_CHECKING:

        async def __aexit__(
            self,
            kind: type[BaseException] | None,
            error: BaseException | None,
            traceback: TracebackType | None,
        ) -> None: ...

    else:
        __aexit__ = BlockEnd()

    def _entered(self, block: Block | None, holder: Holder, grant: _native.Grant) -> _H:
        if block is None:
            self._enter_scope(holder.id, grant)
        else:
            block.entered(self, holder, grant)
        return self._held_class(self, grant)

    @property
    def held(self) -> _H | None:
        """This task's hold, of a semaphore its latest, or `None`, also after a loss. No I/O."""
        grant = self._grant_of(running_holder().id)
        return None if grant is None else self._held_class(self, grant)

    async def _extend(self, lease: Any, number: int | None) -> None:
        raise NotImplementedError

    async def _release(self, number: int | None, holder: Holder | None = None) -> None:
        """Gives up one level, or one hold of permits: of the hold with this number, or of the latest; the running task's, if
        no holder is given."""
        holder = holder or running_holder()
        # Whatever comes of it: a release that failed is no hold that was forgotten.
        holder.left(self)
        await running_port().finish(type(self)._submit_release, self._handle, holder.id, number)
