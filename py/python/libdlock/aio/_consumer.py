"""A consumer of a queue in tasks."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections.abc import Callable, Coroutine, Sequence
from types import TracebackType
from typing import Any, TypeAlias, TypeVar

from .._consumers import PUT_BACK, ConsumerView, Reason
from .._convert import Seconds, optional_ms
from .._deliveries import STOPPED
from .._errors import DlockError
from .._jobs import Backoff
from .._signals import LOOK_UP, hearing
from .._unheld import UnheldObject
from ._delivery import Delivery

Handler: TypeAlias = Callable[[Delivery], Coroutine[Any, Any, object]]
"""What is awaited with each job; what it returns is nobody's business."""

_Self = TypeVar("_Self", bound="Consumer")


class Consumer(ConsumerView):
    """Takes jobs of a queue in tasks and awaits a handler with each, made by `Queue.consume`.

        consumer = mails.consume(send, concurrency=8)
        await consumer.run()  # until SIGTERM or SIGINT

    Or, for a program that goes on meanwhile, with an `async with`, at whose end it stops. It belongs to the loop in which it
    was started.
    """

    _label = "libdlock.aio.Consumer"

    def __init__(
        self,
        queue: UnheldObject,
        take: Callable[[], Coroutine[Any, Any, list[Delivery]]],
        handler: Handler,
        concurrency: int,
        backoff: Backoff,
        grace: Seconds,
        reason: Reason,
    ) -> None:
        super().__init__(queue, concurrency, backoff, grace, reason)
        if not callable(handler):
            raise TypeError(f"a handler must be a coroutine function, not {type(handler).__name__}")
        self._take = take
        self._handler = handler
        self._stopping = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []
        self._idle: set[asyncio.Task[None]] = set()

    async def start(self) -> None:
        """Starts the tasks. A consumer is started once: `RuntimeError` otherwise."""
        if self._tasks or self._stopping.is_set():
            raise RuntimeError("a consumer is started once: make another one with `queue.consume`")
        self._tasks = [
            asyncio.create_task(self._work(), name=f"libdlock-consumer-{at}")
            for at in range(self._concurrency)
        ]

    def request_stop(self) -> None:
        """Takes no more jobs, and returns at once. For handlers of signals, and for handlers of jobs."""
        self._stopping.set()
        for task in self._idle:
            task.cancel()

    async def stop(self, grace: Seconds | None = None) -> bool:
        """Takes no more jobs and waits for those in hand, `grace` seconds at most, the consumer's own unless given.

        What is not done by then is cancelled and put back, for another worker, and that delivery counts. Returns whether all
        were done in time. It waits up to 1 s for the server to have put them back, which goes on after that.
        """
        waiting = self._grace if grace is None else self._seconds(grace)
        self.request_stop()
        if await self._ended(waiting):
            return True
        for task in self._tasks:
            task.cancel()
        await self._ended(None)
        return False

    async def wait(self, timeout: Seconds | None = None) -> bool:
        """Waits until all tasks have ended, `timeout` seconds at most; whether they have.

        They end after a stop, or when the queue cannot be used any more: then the error is raised, such as `Closed`.
        """
        ms = optional_ms(timeout, "timeout", op="consume", name=self._of._name)
        if not await self._ended(None if ms is None else max(ms, 0) / 1000):
            return False
        if self._failure is not None:
            raise self._failure
        return True

    async def run(self, signals: Sequence[int] = (signal.SIGTERM, signal.SIGINT)) -> bool:
        """Starts, and returns when it has stopped: by one of these signals, by `request_stop`, or by an error.

        The error is raised. On the main thread the handlers of the signals are its own meanwhile, and then what they were
        before; those of the loop (`add_signal_handler`) are called, too. Consumers that run on other threads hear those
        signals with it. When the task is cancelled it stops, too. Returns whether all jobs in hand were done within the
        grace.
        """
        loop = asyncio.get_running_loop()
        with hearing(signals, lambda: loop.call_soon_threadsafe(self.request_stop)):
            await self.start()
            stopped = asyncio.ensure_future(self._stopping.wait())
            try:
                while not stopped.done():
                    await asyncio.wait({stopped}, timeout=LOOK_UP)
            finally:
                stopped.cancel()
                done = await self.stop()
        if self._failure is not None:
            raise self._failure
        return done

    async def _ended(self, within: float | None) -> bool:
        others = [task for task in self._tasks if task is not asyncio.current_task()]
        if not others:
            return True
        _, pending = await asyncio.wait(others, timeout=within)
        return not pending

    async def _work(self) -> None:
        task = asyncio.current_task()
        assert task is not None
        failures = 0
        while not self._stopping.is_set():
            self._idle.add(task)
            try:
                taken = await self._take()
            except asyncio.CancelledError:  # by a stop, or by whoever ends the program
                self.request_stop()
                break
            except DlockError as error:
                if not error.retryable:
                    self._fail(error)
                    break
                failures += 1
                pause = self._retry.delay(failures)
                self._tell_away(error, pause)
                with contextlib.suppress(asyncio.TimeoutError):
                    await asyncio.wait_for(self._stopping.wait(), pause)
                continue
            finally:
                self._idle.discard(task)
            failures = 0
            for delivery in taken:
                await self._do(delivery)

    async def _do(self, delivery: Delivery) -> None:
        working = asyncio.ensure_future(self._handled(delivery))
        try:
            in_time = await self._worked(delivery, working)
        except asyncio.CancelledError:  # by a stop whose grace is over, or by whoever ends the program
            self.request_stop()
            await _cancelled(working)
            in_time = False
        is_stopped = working.cancelled() and not in_time
        error = asyncio.CancelledError() if working.cancelled() else working.exception()
        if error is not None and not is_stopped:
            self._tell_failed(delivery, error)
        if delivery.ended:
            return
        try:
            if is_stopped:
                await asyncio.wait_for(delivery.nack(reason=STOPPED), PUT_BACK)
            elif error is not None:
                await delivery.nack(self._delay_after(delivery, error), self._reason_of(error))
            else:
                await delivery.ack()
        except (DlockError, asyncio.TimeoutError) as unended:
            self._tell_unended(delivery, unended)

    async def _handled(self, delivery: Delivery) -> None:
        """A handler that raises before it gives anything to await, or gives nothing to await, has failed as any other."""
        await self._handler(delivery)

    async def _worked(self, delivery: Delivery, working: asyncio.Future[Any]) -> bool:
        """Waits until the handler is done. When the delivery is lost first, the handler is cancelled, and this is false."""
        over: asyncio.Future[bool] = asyncio.ensure_future(delivery.lost.wait())
        try:
            await asyncio.wait({working, over}, return_when=asyncio.FIRST_COMPLETED)
            if not working.done() and over.result():
                await _cancelled(working)
                return False
            await asyncio.wait({working})  # a handler may have ended its delivery, and goes on
            return True
        finally:
            over.cancel()

    def _fail(self, error: BaseException) -> None:
        self._failure = error
        self.request_stop()

    async def __aenter__(self: _Self) -> _Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.stop()
        if error is None and self._failure is not None:
            raise self._failure


async def _cancelled(working: asyncio.Future[Any]) -> None:
    """Cancels a handler, and waits until it has cleaned up."""
    working.cancel()
    await asyncio.wait({working})
