"""The sides of a hand-over look alike to a test: threads of the JVM with Redisson, worker processes and threads with libdlock."""

from __future__ import annotations

import queue
import statistics
import threading
import time
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from itertools import pairwise
from typing import NamedTuple, Protocol, TypeVar

from helpers import SOON, Fleet, Worker, eventually

T = TypeVar("T")

#: A round trip and a wake-up, as a rule: far below every poll and every lease.
AT_ONCE = 150_000  # us
#: What a busy machine may make of one of them; still far below the poll of 30 s.
BY_A_MESSAGE = 5_000_000  # us


class Grant(NamedTuple):
    """When an acquire returned (us of CLOCK_MONOTONIC), and its fencing token if it has one."""

    at: int
    token: int | None


class Hold(NamedTuple):
    """From when to when a lock was held, us; and the token, if it has one."""

    begin: int
    end: int
    token: int | None


def read_hold(words: list[str]) -> Hold | None:
    """`hold TOKEN BEGIN END`, or `done`."""
    if words == ["done"]:
        return None
    kind, token, begin, end = words
    assert kind == "hold", " ".join(words)
    return Hold(int(begin), int(end), None if token == "-" else int(token))


def check_disjoint(holds: Iterable[Hold]) -> None:
    """No two at once, and tokens increase in the order of the grants."""
    ordered = sorted(holds)
    for earlier, later in pairwise(ordered):
        assert earlier.end <= later.begin, f"two holders at once: {earlier} {later}"
    tokens = [hold.token for hold in ordered if hold.token is not None]
    for first, second in pairwise(tokens):
        assert first < second, f"token {second} was given after {first}"


class Taker(Protocol):
    """Who can hold a lock, or a side of one."""

    def tell_acquire(self, name: str) -> None: ...
    def got(self, bound: float = SOON) -> Grant: ...
    def release(self, name: str) -> int: ...


class Side(Taker, Protocol):
    """Who can contend for a lock, too."""

    def tell_contend(self, name: str, rounds: int) -> None: ...
    def hold(self, bound: float) -> Hold | None: ...


class Process:
    """A worker of tests/interop, in any of our languages."""

    def __init__(self, worker: Worker) -> None:
        self._worker = worker

    def tell_acquire(self, name: str) -> None:
        self._worker.tell(f"acquire {name}")

    def got(self, bound: float = SOON) -> Grant:
        kind, at, token = self._worker.answer(bound)
        assert kind == "acquired", kind
        return Grant(int(at), int(token))

    def release(self, name: str) -> int:
        kind, called = self._worker.ask(f"release {name}")
        assert kind == "released", kind
        return int(called)

    def tell_contend(self, name: str, rounds: int) -> None:
        self._worker.tell(f"contend {name} {rounds}")

    def hold(self, bound: float) -> Hold | None:
        return read_hold(self._worker.answer(bound))


class Thread:
    """A thread of this process; our holders are threads too. A test that fails while it waits leaves it behind."""

    def __init__(self) -> None:
        self._work: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            self._work.get()()

    def start(self, call: Callable[[], T]) -> Started[T]:
        """Runs it there, after what it was given before."""
        started: Started[T] = Started()

        def work() -> None:
            try:
                result = call()
                started.set_result((now_us(), result))
            except BaseException as error:
                started.set_exception(error)

        self._work.put(work)
        return started

    def run(self, call: Callable[[], T]) -> T:
        """Runs it there and waits."""
        return self.start(call).ended()[1]


class Started(Future[tuple[int, T]]):
    """What a thread has been told to do."""

    def ended(self) -> tuple[int, T]:
        """Waits; when it was done (us), and what it returned."""
        return self.result(SOON)


def now_us() -> int:
    """CLOCK_MONOTONIC, as Java's nanoTime and every worker has it."""
    return time.monotonic_ns() // 1000


def check_woken(took: list[int]) -> None:
    """Each was woken by a message, and half of them at once (us)."""
    assert all(0 <= us < BY_A_MESSAGE for us in took), took
    assert statistics.median(took) < AT_ONCE, took


def listening(fleet: Fleet, name: str) -> None:
    """Waits until somebody, of either side, listens for the release of the lock."""
    eventually("the waiter listens", lambda: fleet.server.subscribers(name) > 0)
