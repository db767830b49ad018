"""Whoever opens a latch, brings permits or frees the last lock of a set wakes who waits for it, in whatever language."""

from __future__ import annotations

import itertools
import statistics
import time
from collections.abc import Callable

import pytest
import runners
from helpers import Server, Worker, eventually
from languages import has
from runners import Runners

#: A round trip and a wake-up on a busy machine, far below the poll of 30 s.
AT_ONCE = 0.15
ROUNDS = 5
UNIQUE = itertools.count(1)
POLL = "poll_interval=30s"

#: Prepares a name for the two, has the second wait, and says what the first has to do then.
Waits = Callable[[Server, Worker, Worker, str], str]


def latch(server: Server, first: Worker, second: Worker, name: str) -> str:
    for worker in (first, second):
        done(worker.ask(f"latch a {name} it"))
    done(first.ask("set_count it count=1"))
    second.tell("wait it")
    eventually("it listens", lambda: server.listeners(f"redisson_countdownlatch__channel__{{{name}}}") == 1)
    return "count_down it"


def counting_semaphore(server: Server, first: Worker, second: Worker, name: str) -> str:
    for worker in (first, second):
        done(worker.ask(f"counting a {name} it"))
    second.tell("take_permits it permits=2")
    eventually("it waits in the queue", lambda: server.standing(name, "dlock_counting_queue") == 1)
    return "give it permits=2"


def lock_all(server: Server, first: Worker, second: Worker, name: str) -> str:
    done(first.ask(f"take a {name}-2 mine"))
    done(second.ask(f"lock_all a it names={name}-1,{name}-2,{name}-3"))
    second.tell("take_all it held")
    eventually("it waits in the queue", lambda: server.standing(f"{name}-2") == 1)
    return "release mine"


def done(answer: list[str]) -> list[str]:
    assert answer[0] == "ok", " ".join(answer)
    return answer


PAIRS = [
    pytest.param(waits, first, second, id=f"{waits.__name__}-{first}-{second}")
    for waits in (latch, counting_semaphore, lock_all)
    for first in runners.LANGUAGES
    for second in runners.LANGUAGES
    if has(first, waits.__name__) and has(second, waits.__name__)
]


@pytest.mark.parametrize(("waits", "first", "second"), PAIRS)
def test_who_waits_is_woken_within_150_ms(server: Server, running: Runners, waits: Waits, first: str, second: str) -> None:
    makes, waiting = running.get(first, "redis", "wakes"), running.get(second, "redis", "waits")
    for worker in (makes, waiting):
        done(worker.ask(f"open a {POLL}"))
    took = []
    for _ in range(ROUNDS):
        what = waits(server, makes, waiting, f"woken-{next(UNIQUE)}")
        time.sleep(0.02)  # what it sends before it sleeps
        began = time.monotonic()
        makes.tell(what)
        done(waiting.answer())
        took.append(time.monotonic() - began)
        done(makes.answer())
        if waits is lock_all:
            done(waiting.ask("release held"))
    for worker in (makes, waiting):
        done(worker.ask("forget"))
    assert statistics.median(took) < AT_ONCE, took
