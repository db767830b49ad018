"""The worker number for tasks, with the methods of `libdlock.Worker`, of which those that ask the server are coroutines."""

from __future__ import annotations

from .._workers import WorkerView
from ._releasing import Releasing


class Worker(WorkerView, Releasing):
    """A worker number that this process has leased, made by `Client.worker`. May be shared between tasks of several loops.

    No other process has the number as long as it is valid, so ids that are made under it are unique. The client renews the
    lease. The number is given back by `release`, at the end of an `async with`, or in the background when this object and
    its generators are collected.

        async with await client.worker("orders") as worker:
            ids = worker.snowflake()
            order = ids.next_id()
    """

    _label = "libdlock.aio.Worker"
