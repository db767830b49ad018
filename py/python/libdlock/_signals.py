"""Which consumers stop at a signal: all that run, of which one alone, on the main thread, can have the handler."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass


@dataclass(frozen=True)
class _Hearer:
    stop: Callable[[], object]
    place: object


# A handler of a signal may come at any time: it reads a whole tuple, and takes no lock.
_hearers: dict[int, tuple[_Hearer, ...]] = {}
_changes = threading.Lock()


def tell(number: int) -> None:
    """Stops all that hear this signal. For handlers."""
    for hearer in _hearers.get(number, ()):
        hearer.stop()


@contextmanager
def hearing(numbers: Sequence[int], stop: Callable[[], object], place: object = None) -> Iterator[None]:
    """Has `stop` called at each of these signals, when the main thread has a handler that tells of it."""
    hearer = _Hearer(stop, place)
    with _changes:
        for number in numbers:
            _hearers[number] = (*_hearers.get(number, ()), hearer)
    try:
        yield
    finally:
        with _changes:
            for number in numbers:
                _hearers[number] = tuple(other for other in _hearers[number] if other is not hearer)


def is_heard(number: int, place: object) -> bool:
    """Whether a consumer of this place hears the signal."""
    return any(hearer.place is place for hearer in _hearers.get(number, ()))
