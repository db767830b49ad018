"""What holds and worker numbers of tasks share: the signal of their loss, and how they end."""

from __future__ import annotations

from types import TracebackType
from typing import TypeVar

from .. import _native
from ._held import Lost
from ._port import running_port

_Self = TypeVar("_Self", bound="Releasing")


class Releasing:
    """What was granted, and is released by any task, or at the end of an `async with` that has not released it."""

    _grant: _native.Grant
    _ended: bool
    _lost: Lost | None = None

    @property
    def lost(self) -> Lost:
        """The signal that it was lost."""
        if self._lost is None:
            self._lost = Lost(self._grant)
        return self._lost

    async def release(self) -> None:
        """Gives it back. `NotHeld` when it was released before, or was lost. A worker's generators make no ids from here on.

        Once begun it is carried out, also when the task is cancelled while it waits for the answer.
        """
        self._ended = True
        await running_port().finish(_native.submit_held_release, self._grant.handle)

    async def __aenter__(self: _Self) -> _Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._ended:
            return
        try:
            await self.release()
        except BaseException as failed:
            if error is None:
                raise
            self._release_failed(failed)

    def _release_failed(self, error: BaseException) -> None:
        """Tells of a release that failed at the end of a block that another error ended."""
        raise NotImplementedError
