"""A call that goes on beside the next steps: in a task, or in a thread."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from concurrent.futures import Future
from threading import Thread
from typing import Any


class Beside:
    def __init__(self, call: Callable[..., Any], *arguments: Any) -> None:
        self._ended: Any
        if inspect.iscoroutinefunction(call):
            self._ended = asyncio.create_task(call(*arguments))
            return
        ended: Future[Any] = Future()
        self._ended = ended

        def run() -> None:
            try:
                ended.set_result(call(*arguments))
            except BaseException as error:
                ended.set_exception(error)

        Thread(target=run, daemon=True).start()

    async def end(self) -> Any:
        """What it brings, once it is over."""
        return self._ended.result() if isinstance(self._ended, Future) else await self._ended
