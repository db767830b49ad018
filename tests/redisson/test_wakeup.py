"""A release on one side wakes the waiter on the other at once.

With our poll at 30 s and leases of 30 s and more, only the message can.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
from helpers import Fleet, eventually
from redisson import Redisson
from sides import Process, Side, check_woken, listening
from workers import LANGUAGES

ROUNDS = 10


def wake(fleet: Fleet, holder: Side, waiter: Side, name: str) -> None:
    took = []
    for _ in range(ROUNDS):
        holder.tell_acquire(name)
        holder.got()
        waiter.tell_acquire(name)
        listening(fleet, name)
        called = holder.release(name)
        took.append(waiter.got().at - called)
        waiter.release(name)
        eventually("nobody listens", lambda: fleet.server.subscribers(name) == 0)
    check_woken(took)


@pytest.mark.parametrize("kind", ["lock", "fenced"])
@pytest.mark.parametrize("language", LANGUAGES)
def test_our_release_wakes_redisson(
    fleet: Fleet, process: Callable[[str], Process], theirs: Redisson, name: str, language: str, kind: str
) -> None:
    wake(fleet, process(language), theirs.thread(kind), name)


@pytest.mark.parametrize("kind", ["lock", "fenced"])
@pytest.mark.parametrize("language", LANGUAGES)
def test_redissons_release_wakes_us(
    fleet: Fleet, process: Callable[[str], Process], theirs: Redisson, name: str, language: str, kind: str
) -> None:
    wake(fleet, theirs.thread(kind), process(language), name)
