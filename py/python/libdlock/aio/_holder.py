"""The holder of a task: who an acquire or a release acts for."""

from __future__ import annotations

import asyncio
import weakref
from typing import Any

from .._holder import Holder
from ._port import running_loop

_holders: weakref.WeakKeyDictionary[asyncio.Task[Any], Holder] = weakref.WeakKeyDictionary()


def running_holder() -> Holder:
    """The running task's holder, the same for as long as the task lives."""
    task = asyncio.current_task(running_loop())
    if task is None:
        raise RuntimeError("a lock of libdlock.aio is held by a task, and no task is running here")
    holder = _holders.get(task)
    if holder is None:
        holder = _holders[task] = Holder(f"task {task.get_name()!r}")
        task.add_done_callback(holder.ended)
    return holder
