"""One completion port for each event loop: operations go out with a key, answers come back in batches.

The loop itself watches the port's descriptor. However many answers are there when it wakes, it makes one native call for all
of them and sets their futures in one pass; no thread of the core ever enters Python. What a submission completes at once,
its own operation or another that waited for it, is there when it returns and needs no turn of the loop.

The port belongs to the loop: the reader that is registered there is what keeps it alive, so that a loop that is closed, or
forgotten, takes its port along, and with it whatever was still pending.
"""

from __future__ import annotations

import asyncio
import os
import sys
import threading
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .. import _native
from .._answers import let_go
from .._convert import DO_NOT_WAIT
from .._decision import Alike
from .._errors import Unsupported
from ._turn import Ask, Part, by_limiter, refuse

if TYPE_CHECKING:
    from typing_extensions import TypeVarTuple, Unpack

    from ._trio import TrioPort

    _Ts = TypeVarTuple("_Ts")

_ports: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, weakref.ref[Port]] = weakref.WeakKeyDictionary()


class _LastUsed(threading.local):
    """A thread seldom has more than one loop: the port it used last, found without a look into the table."""

    port: Callable[[], Port | None] = staticmethod(lambda: None)


_last_used = _LastUsed()


def running_port() -> Port | TrioPort:
    """The port of the running loop, made with its first operation."""
    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:
        if not in_trio():
            raise
        from ._trio import running_port as port_of_run

        return port_of_run()
    port = _last_used.port()
    if port is not None and port.loop is loop and port.process == os.getpid():
        return port
    known = _ports.get(loop)
    port = None if known is None else known()
    # A child may go on with its parent's loop (uvloop allows that): not with its parent's port.
    if port is None or port.process != os.getpid():
        port = Port(loop)
        _ports[loop] = weakref.ref(port)
    _last_used.port = _ports[loop]
    return port


def in_trio() -> bool:
    """Whether this is a task of trio."""
    trio = sys.modules.get("trio")
    return trio is not None and trio.lowlevel.in_trio_task()


def needs_asyncio(what: str, instead: str) -> None:
    """Refuses in a task of trio what is there for asyncio alone."""
    if in_trio():
        raise Unsupported(f"{what} needs asyncio, and this is a task of trio. {instead}")


class Port:
    """Sends operations to the core and hands their answers to those who wait."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self.process = os.getpid()
        self._native = _native.Port()
        self._answers = self._native.answers
        self._waiting: dict[int, asyncio.Future[Any] | Part] = {}
        self._last_key = 0
        # Those that ask for decisions in this turn of the loop, until they are submitted.
        self._turn: list[Ask] = []
        # Whether there were several in the last one.
        self._has_company = False
        self._last_alone = 0
        loop.add_reader(self._native.descriptor, self._deliver)

    async def call(
        self, submit: Callable[[_native.Port, int, Unpack[_Ts]], int], *arguments: Unpack[_Ts]
    ) -> Any:
        """Submits an operation and waits for its answer. A caller that is cancelled leaves nothing behind."""
        key = self._next_key()
        # Before the submission: the answer may be there when that returns.
        future = self._waiting[key] = self.loop.create_future()
        op = None
        try:
            op = submit(self._native, key, *arguments)
            if self._answers:
                self._hand_out()
            return await future
        except BaseException as raised:
            if self._waiting.pop(key, None) is None:
                _unless_its_own(raised, future)
            elif op is not None and not self._native.cancel(op):
                # Its answer is waiting to be drained. Now, so that a caller who asks again at once does not meet its own
                # grant.
                self._deliver()
            raise

    async def decide(self, limiter: int, alike: Alike, cost: int, of_key: bytes | None) -> Any:
        """Asks a limiter for tokens that are there now, together with all that do so in this turn of the loop.

        A caller that is alone does not wait for the end of the turn: none has come in this one, nor was there one beside
        another in the last, nor does one wait for its answer that was alone, too.
        """
        if not self._turn:
            if not self._has_company and self._last_alone not in self._waiting:
                self._last_alone = self._last_key + 1
                return await self.call(_native.submit_limiter_acquire, limiter, cost, DO_NOT_WAIT, of_key)
            self.loop.call_soon(self._submit_turn)
        ask = Ask(limiter, alike, cost, of_key, self.loop.create_future())
        self._turn.append(ask)
        try:
            return await ask.future
        except BaseException:
            if (op := ask.give_up()) is not None:
                self._native.cancel(op)
            raise

    async def finish(
        self, submit: Callable[[_native.Port, int, Unpack[_Ts]], int], *arguments: Unpack[_Ts]
    ) -> Any:
        """As `call`, for what has to happen once it was asked for: a caller that is cancelled only stops waiting."""
        key = self._next_key()
        future = self._waiting[key] = self.loop.create_future()
        try:
            submit(self._native, key, *arguments)
            if self._answers:
                self._hand_out()
            return await future
        except BaseException as raised:
            if self._waiting.pop(key, None) is None:
                _unless_its_own(raised, future)
            raise

    def _next_key(self) -> int:
        """For an operation that is about to be submitted. Calls are carried out in their order."""
        if self._turn:
            self._submit_turn()
        self._last_key += 1
        return self._last_key

    def _submit_turn(self) -> None:
        turn, self._turn = self._turn, []
        if turn:
            self._has_company = len(turn) > 1
        for asks in by_limiter(turn):
            self._submit_each(asks[0].limiter, asks)
        if self._answers:
            self._hand_out()

    def _submit_each(self, limiter: int, asks: list[Ask]) -> None:
        key = self._last_key + 1
        self._last_key += len(asks)
        try:
            given = [(ask.of_key, ask.cost) for ask in asks]
            parts = _native.limiter_submit_each(self._native, key, limiter, given)
        except BaseException as raised:
            refuse(asks, raised)
            if not isinstance(raised, Exception):
                raise
            return
        start = 0
        for count, op in parts:
            self._waiting[key + start] = Part(op, asks[start : start + count])
            start += count

    def _deliver(self) -> None:
        self._native.drain()
        self._hand_out()

    def _hand_out(self) -> None:
        waiting, answers = self._waiting, self._answers
        if len(answers) > 1:
            answers.reverse()
        while answers:
            key, answer = answers.pop()
            future = waiting.pop(key, None)
            if future is None or future.done():
                let_go(answer)
            elif isinstance(answer, BaseException):
                future.set_exception(answer)
            else:
                future.set_result(answer)


def _unless_its_own(raised: BaseException, future: asyncio.Future[Any]) -> None:
    """For a caller that was answered: what it was told it knows; what it was not, being cancelled before its next step, is
    let go."""
    if not future.cancelled() and future.exception() is not raised:
        let_go(future.exception() or future.result())
