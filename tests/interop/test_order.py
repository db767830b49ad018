"""The queue between processes: one of each language contends for one lock, and each is served within a round of the others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import groupby, pairwise
from typing import NamedTuple

import pytest
from contention import CROWD, check_woken
from helpers import Server, Start, Worker
from workers import LANGUAGES

#: While one process waits, another is served once in its turn, and once if it stood in front when the one began to ask.
TURNS = 2
#: A process counts as waiting from its call on, and stands in the queue when the request has arrived. A busy machine may stop it
#: in between, and other tests run beside this one: of so many turns one may look overtaken, and two besides.
ONE_IN = 100


class Hold(NamedTuple):
    """When it was granted, until when it was held, when it was asked for (us); whose it was; its fencing token."""

    begin: int
    end: int
    asked: int
    language: str
    token: int


def holds_of(language: str, worker: Worker) -> Iterator[Hold]:
    while (answer := worker.answer(CROWD)) != ["done"]:
        kind, token, begin, end, asked = answer
        assert kind == "hold", answer
        yield Hold(int(begin), int(end), int(asked), language, int(token))


def contend(server: Server, start: Start, options: str, rounds: int, callers: int) -> list[Hold]:
    """All languages at once; their holds in the order of the grants, which do not overlap."""
    crowd = {language: start(language, server.url_with(f"poll_interval=30s&lease=60s&{options}")) for language in LANGUAGES}
    for worker in crowd.values():
        worker.tell(f"crowd orders {rounds} {callers}")
    holds = sorted(hold for language, worker in crowd.items() for hold in holds_of(language, worker))
    assert len(holds) == len(LANGUAGES) * rounds * callers
    check_woken(hold.begin - hold.asked for hold in holds)
    for first, second in pairwise(holds):
        assert first.end <= second.begin, f"two holders at once: {first} {second}"
        assert first.token < second.token, "fencing tokens increase in the order of grants"
    assert not server.exists("orders")
    assert not server.exists("dlock_queue:{orders}")
    return holds


def turns_of(holds: list[Hold]) -> list[list[Hold]]:
    """The rows of holds of one process."""
    return [list(turn) for _, turn in groupby(holds, key=lambda hold: hold.language)]


def overtaken(holds: list[Hold]) -> Counter[int]:
    """How often each turn was overtaken at most by one and the same other process. A process's first is not counted: what it
    does for the first time it does before it stands in the queue."""
    turns = turns_of(holds)
    found: Counter[int] = Counter()
    known: set[str] = set()
    for at, turn in enumerate(turns):
        first = turn[0]
        if first.language not in known:
            known.add(first.language)
            continue
        served: Counter[str] = Counter()
        for earlier in reversed(turns[:at]):
            if earlier[-1].end < first.asked or earlier[0].language == first.language:
                break
            served[earlier[0].language] += 1
        found[max(served.values(), default=0)] += 1
    return found


def check_order(what: str, holds: list[Hold]) -> None:
    found = overtaken(holds)
    print(f"{what}: turns by how often one other process came before them: {dict(found)}")
    out_of_turn = sum(turns for times, turns in found.items() if times > TURNS)
    assert out_of_turn <= 2 + found.total() // ONE_IN, found


@pytest.fixture
def handovers(request: pytest.FixtureRequest) -> int:
    return int(request.config.getoption("--handovers"))


@pytest.mark.repeated
@pytest.mark.parametrize("options", ["strict_fifo=true", "strict_fifo=false"])
def test_each_process_is_served_within_a_round_of_the_others(
    server: Server, start: Start, options: str, handovers: int
) -> None:
    holds = contend(server, start, options, rounds=handovers // len(LANGUAGES), callers=1)
    check_order(options, holds)


@pytest.mark.repeated
def test_a_process_hands_on_within_itself_and_not_for_ever(server: Server, start: Start, handovers: int) -> None:
    callers, most = 4, 8
    rounds = handovers // len(LANGUAGES) // callers
    holds = contend(server, start, f"cohort_max={most}&cohort_age=10s", rounds, callers)
    turns = turns_of(holds)
    assert max(map(len, turns)) > 1, "nobody handed on"
    first = {language: next(hold for hold in holds if hold.language == language) for language in LANGUAGES}
    in_line = [hold for hold in holds if hold.asked > first[hold.language].begin]
    too_long = [
        len(turn)
        for turn in turns
        # While nobody else waits a process may go on: in the beginning, say, and in the end.
        if len(turn) > most and any(other.asked < turn[0].begin and other.begin > turn[-1].end for other in in_line)
    ]
    assert not too_long, too_long
    check_order("cohort", holds)
