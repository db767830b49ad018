"""A release in one language wakes the waiter in another at once: with the poll at half a minute, nothing else can."""

from __future__ import annotations

from itertools import pairwise

import pytest
from helpers import Server, Start, eventually

LANGUAGES = ["C++", "Python"]
ROUNDS = 10
#: A round trip and a wake-up on a busy machine, far below every poll.
AT_ONCE = 150_000  # us


@pytest.mark.parametrize("waiting", LANGUAGES)
@pytest.mark.parametrize("releasing", LANGUAGES)
def test_a_release_wakes_the_waiter_within_150_ms(server: Server, start: Start, releasing: str, waiting: str) -> None:
    url = server.url_with("poll_interval=30s&lease=60s")
    holder, waiter = start(releasing, url), start(waiting, url)
    last_token = 0
    for _ in range(ROUNDS):
        _, _, first = holder.ask("acquire job")
        waiter.tell("acquire job")
        eventually("the waiter listens", lambda: server.subscribers("job") > 0)
        released, called = holder.ask("release job")
        acquired, at, second = waiter.answer()
        assert (released, acquired) == ("released", "acquired")
        assert 0 <= int(at) - int(called) < AT_ONCE, f"woken after {int(at) - int(called)} us"
        assert last_token < int(first) < int(second), "fencing tokens increase"
        last_token = int(second)
        assert waiter.ask("release job")[0] == "released"
        eventually("nobody listens", lambda: server.subscribers("job") == 0)
    assert not server.exists("job")


def test_processes_of_both_languages_share_one_lock_without_overlap(server: Server, start: Start) -> None:
    rounds = 100
    workers = [start(language, server.url_with("lease=10s")) for language in LANGUAGES * 2]
    for worker in workers:
        worker.tell(f"contend job {rounds}")
    holds: list[tuple[int, int, int]] = []
    for worker in workers:
        while (answer := worker.answer(bound=60)) != ["done"]:
            kind, token, begin, end = answer
            assert kind == "hold", answer
            holds.append((int(begin), int(end), int(token)))
    assert len(holds) == rounds * len(workers)
    holds.sort()
    for (_, first_end, first_token), (second_begin, _, second_token) in pairwise(holds):
        assert first_end <= second_begin, "two holders at once"
        assert first_token < second_token, "fencing tokens increase in the order of grants"
    assert not server.exists("job")
