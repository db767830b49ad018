"""Tests without a server and without waiting: clients on `memory://` whose time a test moves.

    clock = ManualClock()
    with clock.connect() as client:
        held = client.lock("stock", lease=5).take()
        clock.advance(6)
        assert held.lost.is_set()

`libdlock.integrations.pytest` has fixtures of it.
"""

from __future__ import annotations

import asyncio
import threading
import time
import weakref
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from dataclasses import fields
from typing import TYPE_CHECKING, Any, TypeVar

from . import _greenlets, _log, _native, aio
from ._client import Client
from ._convert import Seconds, milliseconds, utf8
from ._opened import OpenedClient
from ._options import texts_of
from ._shown import shown
from .aio._client import Connecting
from .aio._port import needs_asyncio, running_port

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._options import Options

__all__ = ["ManualClock"]

_R = TypeVar("_R")
#: How long a call may take that does not wait for the clock. It is real time: a test that hangs is to end.
_REAL = 30.0


class ManualClock:
    """A clock that stands still until it is told to move. Its clients measure leases, renewals, rates and waits by it.

    Each client has a store of its own, as `memory://` has. Waits that no client does, such as `asyncio.sleep` or
    `held.lost.wait`, take real time.
    """

    def __init__(self) -> None:
        self._handle = _native.clock_new()
        self._now = 0
        self._clients: weakref.WeakSet[OpenedClient] = weakref.WeakSet()

    @property
    def now(self) -> float:
        """How many seconds it was moved so far."""
        return self._now / 1000

    def connect(self, url: str = "memory://", **options: Unpack[Options]) -> Client:
        """As `libdlock.connect`, of a client with this clock. `Unsupported` for any URL but `memory://`, with options."""
        address, texts = utf8(url, "url", op="connect"), texts_of(options)
        with _log.opening() as port:
            opening = (address, texts, port, self._handle.handle)
            handle = _greenlets.ask(_native.client_open_at, _native.submit_client_open_at, *opening)
            return self._with(Client(handle))

    def aio_connect(self, url: str = "memory://", **options: Unpack[Options]) -> Connecting:
        """As `libdlock.aio.connect`, of a client with this clock."""
        return _ConnectingAt(utf8(url, "url", op="connect"), texts_of(options), self)

    def advance(self, seconds: Seconds, step: Seconds = 1) -> None:
        """Moves the time as it passes in a program that runs: in steps of a second, after each of which clients do what is
        due. What is renewed stays held, if a step is shorter than a third of its lease.

        Those that waited for the time have their answers when this returns; their threads and tasks run on afterwards.
        """
        left, most = _ms(seconds, "seconds"), max(_ms(step, "step"), 1)
        while left:
            now = min(left, most)
            self._move(now)  # refuses less than 0
            left -= now

    def jump(self, seconds: Seconds) -> None:
        """Moves the time at once, as for a process that was suspended: nothing is renewed on the way."""
        self._move(_ms(seconds, "seconds"))

    def run(self, call: Callable[[], _R], step: Seconds = 1) -> _R:
        """Makes a call on a thread of its own, such as `lambda: lock.acquire(timeout=5)`, and moves the time in steps for as
        long as the call waits: it takes no real time, and ends a few steps late. What it returns or raises.

        A lock belongs to the thread that acquires it: use `take` for one that is to stay held. `TimeoutError` for a call
        that has neither ended nor waited for a client of this clock in 30 s of real time. What waits already when the call
        is made should wait longer than the call: who waits is told by their number alone.
        """
        done: Future[_R] = Future()
        before = self._waiting()
        threading.Thread(target=_into, args=(done, call), name="libdlock-testing", daemon=True).start()
        until = time.monotonic() + _REAL
        while not done.done():
            if self._waiting() > before:
                self.advance(step)
                until = time.monotonic() + _REAL
            _check(until)
            time.sleep(0.0005)  # for the thread: nothing tells that it has come to wait
        return done.result()

    async def run_async(self, call: Coroutine[Any, Any, _R], step: Seconds = 1) -> _R:
        """As `run`, of a coroutine, such as `lock.acquire(timeout=5)`, in a task of its own."""
        needs_asyncio("run_async", "Start the call in a nursery and move the clock by `advance` there")
        before = self._waiting()
        task = asyncio.ensure_future(call)
        try:
            until = time.monotonic() + _REAL
            while not task.done():
                if self._waiting() > before:
                    self.advance(step)
                    until = time.monotonic() + _REAL
                _check(until)
                await asyncio.sleep(0.0005)
        except BaseException:
            task.cancel()
            raise
        return task.result()

    def _move(self, ms: int) -> None:
        _native.clock_advance(self._handle.handle, ms)
        self._now += ms

    def _with(self, client: _C) -> _C:
        self._clients.add(client)
        return client

    def _waiting(self) -> int:
        """How many wait in all clients."""
        stats = [client.stats() for client in self._clients]
        blocks = [getattr(each, field.name) for each in stats for field in fields(each)]
        return sum(getattr(block, "waiting", 0) for block in blocks)

    @shown
    def __repr__(self) -> str:
        return f"<libdlock.testing.ManualClock now={self.now}>"


_C = TypeVar("_C", bound=OpenedClient)


class _ConnectingAt(Connecting):
    """A client to be, with a clock."""

    def __init__(self, url: str, options: list[tuple[str, str]], clock: ManualClock) -> None:
        super().__init__(url, options)
        self._clock = clock

    async def _open(self) -> aio.Client:
        with _log.opening() as port:
            opening = (self._url, self._options, port, self._clock._handle.handle)
            return self._clock._with(
                aio.Client(await running_port().call(_native.submit_client_open_at, *opening))
            )


def _ms(given: Seconds, what: str) -> int:
    return milliseconds(given, what, op="advance")


def _check(until: float) -> None:
    if time.monotonic() > until:
        raise TimeoutError(
            f"the call has neither ended nor waited for a client of this clock in {_REAL:.0f} s of real time"
        )


def _into(done: Future[_R], call: Callable[[], _R]) -> None:
    try:
        done.set_result(call())
    except BaseException as raised:
        done.set_exception(raised)
