"""The clients that `settings.LIBDLOCK` describes: opened in each process by the first request that needs one."""

from __future__ import annotations

import os
from collections.abc import Callable, Coroutine
from typing import Any

from django.core.signals import setting_changed

from ... import Client, RateLimiter, _native, aio, connect
from .._clients import OfProcess
from ._settings import configuration, options_of


class _AioOfProcess:
    """As `OfProcess`, for tasks."""

    def __init__(self) -> None:
        self._clients: dict[int, aio.Client] = {}

    async def client(self) -> aio.Client:
        process = os.getpid()
        client = self._clients.get(process)
        if client is None or client.closed:
            given = configuration()
            opened = await aio.connect(given.url, **given.options)
            client = self._clients.get(process)
            if client is None or client.closed:
                client = self._clients[process] = opened
            else:
                await opened.close()
        return client


_threads = OfProcess()
_tasks = _AioOfProcess()


def client() -> Client:
    """The client of this process for sync code, for locks and all else."""
    found = _threads.current()
    if found is None:
        given = configuration()
        found = _threads.keep(connect(given.url, **given.options))
    return found


async def aio_client() -> aio.Client:
    """The client of this process for async code."""
    return await _tasks.client()


def maker(name: str) -> Callable[[], RateLimiter]:
    """Makes the limiter of that name, of `LIBDLOCK["LIMITERS"]`."""

    def make() -> RateLimiter:
        return client().rate_limiter(name, **options_of(name))

    return make


def aio_maker(name: str) -> Callable[[], Coroutine[Any, Any, aio.RateLimiter]]:
    """The same for tasks."""

    async def make() -> aio.RateLimiter:
        return (await aio_client()).rate_limiter(name, **options_of(name))

    return make


def _forget(*, setting: str, **_: object) -> None:
    """`override_settings` in tests: what is asked next opens a client of the new setting."""
    if setting == "LIBDLOCK":
        _threads.close()
        left = _tasks._clients.pop(os.getpid(), None)
        if left is not None:
            _native.client_close(left._number, False)  # `close` would need the loop
            left._over()


setting_changed.connect(_forget)
