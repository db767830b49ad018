"""A consumer of a queue on threads."""

from __future__ import annotations

import inspect
import signal
import threading
import time
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import TypeAlias, TypeVar

from . import _native
from ._consumers import PUT_BACK, ConsumerView, Reason
from ._convert import Seconds, optional_ms
from ._deliveries import STOPPED
from ._delivery import Delivery
from ._errors import Cancelled, DlockError
from ._jobs import Backoff
from ._signals import LOOK_UP, hearing
from ._unheld import UnheldObject

Handler: TypeAlias = Callable[[Delivery], object]
"""What is called with each job; what it returns is nobody's business."""

_Self = TypeVar("_Self", bound="Consumer")

_AWAITABLE = "a handler on threads does its job before it returns, and nothing awaits what it gives"


class Consumer(ConsumerView):
    """Takes jobs of a queue on threads and calls a handler with each, made by `Queue.consume`.

        consumer = mails.consume(send, concurrency=8)
        consumer.run()  # until SIGTERM or SIGINT

    Or, for a program that goes on meanwhile, with a `with`, at whose end it stops. The threads are daemons.
    """

    _label = "libdlock.Consumer"

    def __init__(
        self,
        queue: UnheldObject,
        take: Callable[[int], list[Delivery]],
        handler: Handler,
        concurrency: int,
        backoff: Backoff,
        grace: Seconds,
        reason: Reason,
    ) -> None:
        super().__init__(queue, concurrency, backoff, grace, reason)
        if not callable(handler):
            raise TypeError(f"a handler must be a function, not {type(handler).__name__}")
        if inspect.iscoroutinefunction(handler):
            raise TypeError(
                f"{_AWAITABLE}; a queue of libdlock.aio has handlers that are coroutine functions"
            )
        self._take = take
        self._handler = handler
        self._cancel = _native.cancel_new()
        self._stopping = threading.Event()
        self._threads: list[threading.Thread] = []
        self._in_hand: set[Delivery] = set()
        self._lock = threading.RLock()  # a handler of a signal may stop what is starting

    def start(self) -> None:
        """Starts the threads. A consumer is started once: `RuntimeError` otherwise."""
        with self._lock:
            if self._threads or self._stopping.is_set():
                raise RuntimeError("a consumer is started once: make another one with `queue.consume`")
            try:
                for at in range(self._concurrency):
                    name = f"libdlock-consumer-{at}"
                    thread = threading.Thread(target=self._work, name=name, daemon=True)
                    thread.start()
                    self._threads.append(thread)
            except BaseException:  # such as of a process that may have no more threads
                self.request_stop()
                raise

    def request_stop(self) -> None:
        """Takes no more jobs, and returns at once. For handlers of signals, and for handlers of jobs."""
        self._stopping.set()
        _native.cancel_fire(self._cancel.handle)

    def stop(self, grace: Seconds | None = None) -> bool:
        """Takes no more jobs and waits for those in hand, `grace` seconds at most, the consumer's own unless given.

        What is not done by then is put back, for another worker, and that delivery counts; its handler's thread goes on, and
        sees `delivery.valid` false. Returns whether all were done in time. It waits up to 1 s for the server to have put
        them back, which goes on after that.
        """
        waiting = self._grace if grace is None else self._seconds(grace)
        self.request_stop()
        if self._joined(waiting):
            return True
        putting_back = threading.Thread(target=self._put_back, name="libdlock-consumer-end", daemon=True)
        try:
            putting_back.start()
        except RuntimeError:  # at the end of the process there are no more threads
            self._put_back()
        else:
            putting_back.join(PUT_BACK)
        return False

    def _put_back(self) -> None:
        with self._lock:
            left = list(self._in_hand)
        for delivery in left:
            if not delivery.ended:
                try:
                    delivery.nack(reason=STOPPED)
                except DlockError as error:
                    self._tell_unended(delivery, error)

    def wait(self, timeout: Seconds | None = None) -> bool:
        """Waits until all threads have ended, `timeout` seconds at most; whether they have.

        They end after a stop, or when the queue cannot be used any more: then the error is raised, such as `Closed`.
        """
        ms = optional_ms(timeout, "timeout", op="consume", name=self._of._name)
        if not self._joined(None if ms is None else max(ms, 0) / 1000):
            return False
        if self._failure is not None:
            raise self._failure
        return True

    def run(self, signals: Sequence[int] = (signal.SIGTERM, signal.SIGINT)) -> bool:
        """Starts, and returns when it has stopped: by one of these signals, by `request_stop`, or by an error.

        The error is raised. On the main thread the handlers of the signals are its own meanwhile, and then what they were
        before; consumers that run on other threads hear those signals with it. Returns whether all jobs in hand were done
        within the grace.
        """
        with hearing(signals, self.request_stop):
            self.start()
            while not self._stopping.is_set() and not self._joined(LOOK_UP):
                pass
            done = self.stop()
        if self._failure is not None:
            raise self._failure
        return done

    def _joined(self, within: float | None) -> bool:
        until = None if within is None else time.monotonic() + within
        with self._lock:  # while it starts, some of them cannot be waited for
            threads = list(self._threads)
        for thread in threads:
            if thread is not threading.current_thread():
                thread.join(None if until is None else max(until - time.monotonic(), 0))
                if thread.is_alive():
                    return False
        return True

    def _work(self) -> None:
        failures = 0
        while not self._stopping.is_set():
            try:
                taken = self._take(self._cancel.handle)
            except Cancelled:
                break
            except DlockError as error:
                if not error.retryable:
                    self._fail(error)
                    break
                failures += 1
                pause = self._retry.delay(failures)
                self._tell_away(error, pause)
                self._stopping.wait(pause)
                continue
            failures = 0
            for delivery in taken:
                self._do(delivery)

    def _do(self, delivery: Delivery) -> None:
        with self._lock:
            self._in_hand.add(delivery)
        try:
            try:
                done = self._handler(delivery)
                if inspect.iscoroutine(done):
                    done.close()
                    raise TypeError(_AWAITABLE)
            except BaseException as error:
                self._handler_failed(delivery, error)
            else:
                if not delivery.ended:
                    delivery.ack()
        except DlockError as error:
            self._tell_unended(delivery, error)
        finally:
            with self._lock:
                self._in_hand.discard(delivery)

    def _handler_failed(self, delivery: Delivery, error: BaseException) -> None:
        self._tell_failed(delivery, error)
        if not isinstance(error, Exception):  # such as `SystemExit`: it asks for an end
            self._fail(error)
        if not delivery.ended:
            delivery.nack(self._delay_after(delivery, error), self._reason_of(error))

    def _fail(self, error: BaseException) -> None:
        self._failure = error
        self.request_stop()

    def __enter__(self: _Self) -> _Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.stop()
        if error is None and self._failure is not None:
            raise self._failure
