"""The completion port of a trio run: what `_port` is for an event loop of asyncio.

Imported only where trio runs. A system task waits on the port's descriptor, for all that wait for answers, and goes with the
run. Every call is a checkpoint, also one that is answered at once.
"""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import trio
from trio.abc import Instrument
from trio.lowlevel import Abort, RunVar, Task

from .. import _native
from .._answers import let_go
from .._convert import DO_NOT_WAIT
from .._decision import Alike
from .._holder import Holder

if TYPE_CHECKING:
    from typing_extensions import TypeVarTuple, Unpack

    _Ts = TypeVarTuple("_Ts")

_port: RunVar[TrioPort | None] = RunVar("libdlock port")
_holders: RunVar[_Holders | None] = RunVar("libdlock holders")


def running_port() -> TrioPort:
    """The port of this run, made with its first operation."""
    port = _port.get(None)
    if port is None or port.process != os.getpid():
        port = TrioPort()
        _port.set(port)
    return port


def running_holder() -> Holder:
    """The running task's holder, the same for as long as the task lives."""
    holders = _holders.get(None)
    if holders is None:
        holders = _Holders()
        trio.lowlevel.add_instrument(holders)
        _holders.set(holders)
    return holders.of(trio.lowlevel.current_task())


class _Holders(Instrument):
    """The holders of a run. Trio tells instruments of the end of a task, and nobody else."""

    def __init__(self) -> None:
        self._of: weakref.WeakKeyDictionary[Task, Holder] = weakref.WeakKeyDictionary()

    def of(self, task: Task) -> Holder:
        """The holder of a task."""
        holder = self._of.get(task)
        if holder is None:
            holder = self._of[task] = Holder(f"task {task.name!r}")
        return holder

    def task_exited(self, task: Task) -> None:
        """Called by trio for each task."""
        holder = self._of.pop(task, None)
        if holder is not None:
            holder.ended(task)


class _Answer:
    """What an operation brings, and the task that waits for it."""

    __slots__ = ("error", "is_there", "task", "value")

    def __init__(self) -> None:
        self.is_there = False
        self.value: Any = None
        self.error: BaseException | None = None
        self.task: Task | None = None

    def set(self, answer: Any) -> None:
        """Called once."""
        self.is_there = True
        if isinstance(answer, BaseException):
            self.error = answer
        else:
            self.value = answer
        if self.task is not None:
            task, self.task = self.task, None
            trio.lowlevel.reschedule(task)

    async def get(self) -> Any:
        """Waits for it. A checkpoint."""
        if self.is_there:
            await trio.lowlevel.checkpoint()
        else:
            self.task = trio.lowlevel.current_task()
            await trio.lowlevel.wait_task_rescheduled(self._give_up)
        if self.error is not None:
            raise self.error
        return self.value

    def _give_up(self, raise_cancel: object) -> Abort:
        self.task = None
        return Abort.SUCCEEDED


class TrioPort:
    """Sends operations to the core and hands their answers to those who wait."""

    def __init__(self) -> None:
        self.process = os.getpid()
        self._native = _native.Port()
        self._answers = self._native.answers
        self._waiting: dict[int, _Answer] = {}
        self._last_key = 0
        trio.lowlevel.spawn_system_task(self._listen, name="libdlock port")

    # Ctrl-C is to break the waits, and not what stands between a submission and its wait.
    @trio.lowlevel.enable_ki_protection
    async def call(
        self, submit: Callable[[_native.Port, int, Unpack[_Ts]], int], *arguments: Unpack[_Ts]
    ) -> Any:
        """Submits an operation and waits for its answer. A caller that is cancelled leaves nothing behind; in a scope
        that is cancelled already nothing is submitted."""
        await trio.lowlevel.checkpoint_if_cancelled()
        key, answer = self._next()
        op = None
        try:
            op = submit(self._native, key, *arguments)
            if self._answers:
                self._hand_out()
            return await answer.get()
        except BaseException as raised:
            if self._waiting.pop(key, None) is None:
                _unless_its_own(raised, answer)
            elif op is not None and not self._native.cancel(op):
                # Its answer is waiting to be drained. Now, so that a caller who asks again at once does not meet its own
                # grant.
                self._deliver()
            raise

    async def decide(self, limiter: int, alike: Alike, cost: int, of_key: bytes | None) -> Any:
        """Asks a limiter for tokens that are there now; each task by itself."""
        return await self.call(_native.submit_limiter_acquire, limiter, cost, DO_NOT_WAIT, of_key)

    @trio.lowlevel.enable_ki_protection
    async def finish(
        self, submit: Callable[[_native.Port, int, Unpack[_Ts]], int], *arguments: Unpack[_Ts]
    ) -> Any:
        """As `call`, for what has to happen once it was asked for: a caller that is cancelled meanwhile only stops waiting.

        One that was cancelled before, as at the end of an `async with`, waits for the answer, as it does under asyncio.
        """
        key, answer = self._next()
        try:
            submit(self._native, key, *arguments)
            if self._answers:
                self._hand_out()
            with trio.CancelScope(shield=trio.current_effective_deadline() == float("-inf")):
                return await answer.get()
        except BaseException as raised:
            if self._waiting.pop(key, None) is None:
                _unless_its_own(raised, answer)
            raise

    def _next(self) -> tuple[int, _Answer]:
        """For an operation that is about to be submitted: its answer may be there when that returns."""
        self._last_key += 1
        answer = self._waiting[self._last_key] = _Answer()
        return self._last_key, answer

    async def _listen(self) -> None:
        while True:
            await trio.lowlevel.wait_readable(self._native.descriptor)
            self._deliver()

    def _deliver(self) -> None:
        self._native.drain()
        self._hand_out()

    def _hand_out(self) -> None:
        answers = self._answers
        if len(answers) > 1:
            answers.reverse()
        while answers:
            key, got = answers.pop()
            answer = self._waiting.pop(key, None)
            if answer is None:
                let_go(got)
            else:
                answer.set(got)


def _unless_its_own(raised: BaseException, answer: _Answer) -> None:
    """For a caller that was answered: what it was told it knows; what it was not, being cancelled before its next step, is
    let go."""
    if answer.is_there and answer.error is not raised:
        let_go(answer.error or answer.value)
