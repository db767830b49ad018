"""A release in one language wakes the waiter in another at once: with the poll at half a minute, nothing else can."""

from __future__ import annotations

import time

import pytest
from contention import contend
from helpers import Fleet, Server, eventually
from wire import Wire
from workers import LANGUAGES

#: A round trip and a wake-up, as a rule.
AT_ONCE = 150_000  # us
#: Far below every poll, and beyond what a busy machine takes for one of them.
BY_A_MESSAGE = 5_000_000  # us


@pytest.mark.repeated
@pytest.mark.parametrize("waiting", LANGUAGES)
@pytest.mark.parametrize("releasing", LANGUAGES)
def test_a_release_wakes_the_waiter_within_150_ms(
    request: pytest.FixtureRequest, fleet: Fleet, releasing: str, waiting: str
) -> None:
    server, holder, waiter = fleet.server, fleet.worker(releasing, "holder"), fleet.worker(waiting, "waiter")
    lock = f"from-{releasing}-to-{waiting}"
    last_token = 0
    took: list[int] = []
    for _ in range(request.config.getoption("--rounds")):
        _, _, first = holder.ask(f"acquire {lock}")
        waiter.tell(f"acquire {lock}")
        eventually("the waiter stands in the queue", lambda: server.standing(lock) == 1)
        released, called = holder.ask(f"release {lock}")
        acquired, at, second = waiter.answer()
        assert (released, acquired) == ("released", "acquired")
        took.append(int(at) - int(called))
        assert 0 <= took[-1] < BY_A_MESSAGE, f"woken after {took[-1]} us"
        assert last_token < int(first) < int(second), "fencing tokens increase"
        last_token = int(second)
        assert waiter.ask(f"release {lock}")[0] == "released"
        eventually("nobody stands in the queue", lambda: server.standing(lock) == 0)
    assert not server.exists(lock)
    took.sort()
    half, most = took[len(took) // 2], took[len(took) * 99 // 100]
    assert half < AT_ONCE, took
    print(f"{releasing} to {waiting}: p50 {half} us, p99 {most} us; a round trip p99 {round_trip(server)} us")


def round_trip(server: Server) -> int:
    """What a request and its answer take at most in 99 of 100 cases, on a connection that is open (us)."""
    with Wire(server.port) as wire:
        took = []
        for _ in range(200):
            begun = time.monotonic_ns()
            wire.command("PING")
            took.append((time.monotonic_ns() - begun) // 1000)
    return sorted(took)[198]


def test_processes_of_all_languages_share_one_lock_without_overlap(fleet: Fleet) -> None:
    contend([fleet.worker(language, role) for language in LANGUAGES for role in ("holder", "waiter")], "shared", 100)
    assert not fleet.server.exists("shared")
