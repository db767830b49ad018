"""Decisions that the tasks of a loop ask for in one turn of it, such as those of many requests that have come at once: one
native call asks for all that one limiter is asked for, which takes a fraction of what a call for each does."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

from .._decision import Alike


class Ask:
    """What one task asks for, and the future that it waits for."""

    __slots__ = ("_part", "_wanted", "alike", "cost", "future", "limiter", "of_key")

    def __init__(
        self, limiter: int, alike: Alike, cost: int, of_key: bytes | None, future: asyncio.Future[Any]
    ) -> None:
        self.limiter = limiter
        self.alike = alike
        self.cost = cost
        self.of_key = of_key
        self.future = future
        self._part: Part | None = None
        self._wanted = True

    def is_wanted(self) -> bool:
        """Whether the task still waits for an answer."""
        return self._wanted and not self.future.done()

    def is_submitted_with(self, part: Part) -> None:
        """From now on it has an operation."""
        self._part = part

    def give_up(self) -> int | None:
        """The task goes on without its answer. The operation that nobody waits for any more, if there is one."""
        if self.future.done() and not self.future.cancelled():
            return None
        self._wanted = False
        return None if self._part is None else self._part.given_up()

    def tell(self, answer: Any) -> None:
        """Gives the task its answer, which may be an exception."""
        if not self.is_wanted():
            return
        if isinstance(answer, BaseException):
            self.future.set_exception(answer)
        else:
            self.future.set_result(answer)


class Part:
    """Some that are answered together: a port gives it what their operation brings, as it does to a future."""

    __slots__ = ("_asks", "_op", "_wanted")

    def __init__(self, op: int, asks: list[Ask]) -> None:
        self._op = op
        self._asks = asks
        self._wanted = len(asks)
        for ask in asks:
            ask.is_submitted_with(self)

    def done(self) -> bool:
        """Whether it was answered; a port does so once."""
        return False

    def set_result(self, answers: Any) -> None:
        """Tells each its own answer, which may be an exception."""
        for ask, answer in zip(self._asks, answers, strict=True):
            ask.tell(answer)

    def set_exception(self, error: BaseException) -> None:
        """Tells all of them what kept them from having an answer."""
        for ask in self._asks:
            ask.tell(error)

    def given_up(self) -> int | None:
        """One more of them is not wanted any more. The operation, if none is."""
        self._wanted -= 1
        return self._op if self._wanted == 0 else None


def by_limiter(asks: list[Ask]) -> Iterator[list[Ask]]:
    """Those that are still wanted, in their order; for limiters that are alike, any of them can ask."""
    each: dict[Alike, list[Ask]] = {}
    for ask in asks:
        if ask.is_wanted():
            each.setdefault(ask.alike, []).append(ask)
    yield from each.values()


def refuse(asks: list[Ask], raised: BaseException) -> None:
    """Tells those that were not submitted what was raised; what ends the loop itself only cancels them."""
    for ask in asks:
        if isinstance(raised, Exception):
            ask.tell(raised)
        else:
            ask.future.cancel()
