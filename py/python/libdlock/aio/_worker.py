"""The worker number for tasks, with the methods of `libdlock.Worker`, of which those that ask the server are coroutines."""

from __future__ import annotations

from types import TracebackType
from typing import TypeVar

from .. import _native
from .._workers import WorkerView
from ._held import Lost
from ._port import running_port

_Self = TypeVar("_Self", bound="Worker")


class Worker(WorkerView):
    """A worker number that this process has leased, made by `Client.worker`. May be shared between tasks of several loops.

    No other process has the number as long as it is valid, so ids that are made under it are unique. The client renews the
    lease. The number is given back by `release`, at the end of an `async with`, or in the background when this object and
    its generators are collected.

        async with await client.worker("orders") as worker:
            ids = worker.snowflake()
            order = ids.next_id()
    """

    _label = "libdlock.aio.Worker"
    _lost: Lost | None = None

    @property
    def lost(self) -> Lost:
        """The signal that the number was lost."""
        if self._lost is None:
            self._lost = Lost(self._grant)
        return self._lost

    async def release(self) -> None:
        """Gives the number back; its generators make no ids from here on. `NotHeld` when it was released before, or lost.

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
