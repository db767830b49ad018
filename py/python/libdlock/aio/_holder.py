"""The holder of a task: who an acquire or a release acts for."""

from __future__ import annotations

import asyncio
import weakref
from typing import Any

from .._holder import Holder
from ._port import in_trio

_holders: weakref.WeakKeyDictionary[asyncio.Task[Any], Holder] = weakref.WeakKeyDictionary()


def running_holder() -> Holder:
    """The running task's holder, the same for as long as the task lives."""
    try:
        task = asyncio.current_task()
    except RuntimeError:
        if not in_trio():
            raise
        from ._trio import running_holder as holder_of_task

        return holder_of_task()
    if task is None:
        raise RuntimeError("a lock of libdlock.aio is held by a task, and no task is running here")
    holder = _holders.get(task)
    if holder is None:
        holder = _holders[task] = Holder(f"task {task.get_name()!r}")
        task.add_done_callback(holder.ended)
    return holder
