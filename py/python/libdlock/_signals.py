"""Which consumers stop at a signal: all that run, of which one alone, on the main thread, can have the handler."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

# In seconds. A handler does not end the wait for a thread, nor that of a loop which is about to wait: these look up.
LOOK_UP = 0.2


@dataclass(frozen=True)
class _Hearer:
    stop: Callable[[], object]
    is_main: bool


# A handler of a signal may come at any time: it reads a whole tuple, and takes no lock.
_hearers: dict[int, tuple[_Hearer, ...]] = {}
_changes = threading.Lock()
# The handlers that were there, as `signal.getsignal` gives them, C's own as `None`. The main thread's alone.
_before: dict[int, Any] = {}


@contextmanager
def hearing(numbers: Sequence[int], stop: Callable[[], object]) -> Iterator[None]:
    """Has `stop` called at each of these signals while the main thread has this block, or another one for that signal.

    The last of its blocks puts back the handler that was there before the first.
    """
    is_main = threading.current_thread() is threading.main_thread()
    hearer = _Hearer(stop, is_main)
    try:
        with _changes:
            for number in numbers:
                _hearers[number] = (*_hearers.get(number, ()), hearer)
        for number in numbers if is_main else ():
            _handle(number)
        yield
    finally:
        with _changes:
            for number in numbers:
                _hearers[number] = tuple(other for other in _hearers.get(number, ()) if other is not hearer)
        for number in numbers if is_main else ():
            _put_back(number)


def _handle(number: int) -> None:
    """Not as a handler of an event loop, of which a signal has one: what the loop had would be gone for good."""
    if signal.getsignal(number) is _heard:
        return
    try:
        _before[number] = signal.signal(number, _heard)
    except ValueError:  # a sub-interpreter has no handlers
        if number not in signal.valid_signals():
            raise


def _put_back(number: int) -> None:
    if number not in _before or any(hearer.is_main for hearer in _hearers.get(number, ())):
        return
    before = _before.pop(number)
    if signal.getsignal(number) is _heard:  # one that the program has set meanwhile stays
        signal.signal(number, signal.SIG_DFL if before is None else before)


def _heard(number: int, _frame: object) -> None:
    for hearer in _hearers.get(number, ()):
        hearer.stop()
