"""The worker number for threads."""

from __future__ import annotations

from types import TracebackType
from typing import TypeVar

from . import _native
from ._greenlets import running
from ._held import Lost
from ._workers import WorkerView

_Self = TypeVar("_Self", bound="Worker")


class Worker(WorkerView):
    """A worker number that this process has leased, made by `Client.worker`. May be shared between threads.

    No other process has the number as long as it is valid, so ids that are made under it are unique. The client renews the
    lease. The number is given back by `release`, at the end of a `with`, or in the background when this object and its
    generators are collected.

        with client.worker("orders") as worker:
            ids = worker.snowflake()
            order = ids.next_id()
    """

    _label = "libdlock.Worker"
    _lost: Lost | None = None

    @property
    def lost(self) -> Lost:
        """The signal that the number was lost."""
        if self._lost is None:
            self._lost = Lost(self._grant)
        return self._lost

    def release(self) -> None:
        """Gives the number back; its generators make no ids from here on. `NotHeld` when it was released before, or lost."""
        self._ended = True
        caller = running()
        if caller is None:
            _native.worker_release(self._grant.handle)
        else:
            caller.port.finish(_native.submit_held_release, self._grant.handle)

    def __enter__(self: _Self) -> _Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._ended:
            return
        try:
            self.release()
        except BaseException as failed:
            if error is None:
                raise
            self._release_failed(failed)
