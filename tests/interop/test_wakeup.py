"""A release in one language wakes the waiter in another at once: with the poll at half a minute, nothing else can."""

from __future__ import annotations

from itertools import pairwise

import pytest
from helpers import Fleet, eventually
from workers import LANGUAGES

ROUNDS = 10
#: A round trip and a wake-up on a busy machine, far below every poll.
AT_ONCE = 150_000  # us


@pytest.mark.parametrize("waiting", LANGUAGES)
@pytest.mark.parametrize("releasing", LANGUAGES)
def test_a_release_wakes_the_waiter_within_150_ms(fleet: Fleet, releasing: str, waiting: str) -> None:
    server, holder, waiter = fleet.server, fleet.worker(releasing, "holder"), fleet.worker(waiting, "waiter")
    lock = f"from-{releasing}-to-{waiting}"
    last_token = 0
    for _ in range(ROUNDS):
        _, _, first = holder.ask(f"acquire {lock}")
        waiter.tell(f"acquire {lock}")
        eventually("the waiter listens", lambda: server.subscribers(lock) > 0)
        released, called = holder.ask(f"release {lock}")
        acquired, at, second = waiter.answer()
        assert (released, acquired) == ("released", "acquired")
        assert 0 <= int(at) - int(called) < AT_ONCE, f"woken after {int(at) - int(called)} us"
        assert last_token < int(first) < int(second), "fencing tokens increase"
        last_token = int(second)
        assert waiter.ask(f"release {lock}")[0] == "released"
        eventually("nobody listens", lambda: server.subscribers(lock) == 0)
    assert not server.exists(lock)


def test_processes_of_all_languages_share_one_lock_without_overlap(fleet: Fleet) -> None:
    rounds = 100
    contenders = [fleet.worker(language, role) for language in LANGUAGES for role in ("holder", "waiter")]
    for worker in contenders:
        worker.tell(f"contend shared {rounds}")
    holds: list[tuple[int, int, int]] = []
    for worker in contenders:
        # A wake-up that is lost costs a poll of 30 s: this bound sees it.
        while (answer := worker.answer(bound=20)) != ["done"]:
            kind, token, begin, end = answer
            assert kind == "hold", answer
            holds.append((int(begin), int(end), int(token)))
    assert len(holds) == rounds * len(contenders)
    holds.sort()
    for (_, first_end, first_token), (second_begin, _, second_token) in pairwise(holds):
        assert first_end <= second_begin, "two holders at once"
        assert first_token < second_token, "fencing tokens increase in the order of grants"
    assert not fleet.server.exists("shared")
