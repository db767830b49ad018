"""What `_limit` needs of trio. Imported only where trio runs."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextvars import copy_context
from typing import Generic, TypeVar

import trio

_T = TypeVar("_T")


class Making(Generic[_T]):
    """A call for which several tasks of a run wait. It goes on when any of them is cancelled."""

    def __init__(self, call: Callable[[], Awaitable[_T]]) -> None:
        self._token = trio.lowlevel.current_trio_token()
        self._ended = trio.Event()
        self._made: list[_T] = []
        self._error: Exception | None = None
        trio.lowlevel.spawn_system_task(self._run, call, context=copy_context())

    def is_under_way(self) -> bool:
        """Whether a task of the running run may wait for it."""
        return not self._ended.is_set() and self._token is trio.lowlevel.current_trio_token()

    async def result(self) -> _T:
        """What the call returned; raises what it raised."""
        await self._ended.wait()
        if self._error is not None:
            raise self._error
        (made,) = self._made
        return made

    async def _run(self, call: Callable[[], Awaitable[_T]]) -> None:
        try:
            self._made.append(await call())
        except Exception as error:  # in a system task it would end the run
            self._error = error
        self._ended.set()
