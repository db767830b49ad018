"""Callers in threads: what they do with locks that are context managers, whoever made them."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any, TypeVar

from protocol import answer, ready
from window import Window, told

#: A lock of that name; every caller has an object of its own.
Open = Callable[[str], AbstractContextManager[Any]]
#: Does what is measured until a point of time.monotonic(); says how often.
Work = Callable[[float], int]

#: So many seconds a hold lasts in `handover`, in which the other process is waiting for sure.
HOLD = 0.002

T = TypeVar("T")


def everybody(
    tasks: Sequence[Callable[[float], T]], warm: Callable[[int], object] = lambda number: None
) -> tuple[float, list[T]]:
    """Runs each in a thread, all from the driver's go on, whose instant they are given; how long the last one took. What makes
    them warm happens before, in the same threads."""
    results: dict[int, T] = {}
    all_warm, start_line = threading.Barrier(len(tasks) + 1), threading.Barrier(len(tasks) + 1)
    begun = 0.0

    def run(number: int) -> None:
        warm(number)
        all_warm.wait()
        start_line.wait()
        results[number] = tasks[number](begun)

    threads = [threading.Thread(target=run, args=(number,), daemon=True) for number in range(len(tasks))]
    for thread in threads:
        thread.start()
    all_warm.wait()
    ready()
    begun = time.monotonic()
    start_line.wait()
    for thread in threads:
        thread.join()
    return time.monotonic() - begun, [results[number] for number in range(len(tasks))]


def pairs(lock: AbstractContextManager[Any]) -> Work:
    """Lock and unlock."""

    def work(end: float) -> int:
        done = 0
        while time.monotonic() < end:
            with lock:
                done += 1
        return done

    return work


def loops(works: Sequence[Work], seconds: float) -> None:
    """Every caller at its own work."""

    def caller(work: Work) -> Callable[[float], int]:
        return lambda begun: work(begun + seconds)

    # Connections and keys are warm before the clock starts.
    taken, done = everybody([caller(work) for work in works], lambda number: works[number](time.monotonic() + 0.1))
    answer({"done": sum(done), "seconds": taken})


def contended(open_lock: Open, callers: int, seconds: float) -> None:
    """All callers take `bench` and let go of it at once, again and again."""
    with open_lock(f"warm-{os.getpid()}"):
        pass

    def caller(lock: AbstractContextManager[Any]) -> Callable[[float], Window]:
        def run(begun: float) -> Window:
            window = Window(begun, seconds)
            while window.goes_on(asked := time.monotonic()):
                with lock:
                    window.granted(asked)
            return window

        return run

    _, windows = everybody([caller(open_lock("bench")) for _ in range(callers)])
    answer(told(windows, seconds))


def idle(open_lock: Open, callers: int) -> None:
    """So many callers wait for `bench`, which somebody else holds."""
    for _ in range(callers):
        threading.Thread(target=open_lock("bench").__enter__, daemon=True).start()
    ready()
    answer({})
    os._exit(0)  # they wait for ever


def hold(open_lock: Open) -> None:
    """Holds `bench` until the driver is done."""
    with open_lock("bench"):
        ready()
        answer({})


def handover(open_lock: Open, seconds: float) -> None:
    """Takes `bench`, holds it, lets go; tells when it had it and when it called release, on the clock of the machine."""
    with open_lock(f"warm-{os.getpid()}"):
        pass
    lock = open_lock("bench")
    ready()
    end = time.monotonic() + seconds
    turns = []
    while time.monotonic() < end:
        with lock:
            taken = time.monotonic_ns()
            time.sleep(HOLD)
            released = time.monotonic_ns()
        turns.append((taken, released))
    answer({"turns": turns})


def run(what: str, open_lock: Open, callers: int, seconds: float) -> None:
    """What can be done with any lock."""
    if what == "pairs":
        loops([pairs(open_lock(f"bench-{number}")) for number in range(callers)], seconds)
    elif what == "contended":
        contended(open_lock, callers, seconds)
    elif what == "idle":
        idle(open_lock, callers)
    elif what == "hold":
        hold(open_lock)
    elif what == "handover":
        handover(open_lock, seconds)
    else:
        raise ValueError(f"there is no {what!r}")
