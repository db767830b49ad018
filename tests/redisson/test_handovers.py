"""Many hand-overs between both sides: never two holders, tokens that increase, nobody who sleeps through a release."""

from __future__ import annotations

from collections.abc import Callable
from itertools import cycle, islice, pairwise

import pytest
from helpers import Fleet
from redisson import Peer, Redisson
from sides import Hold, Process, Side, check_disjoint, listening
from workers import LANGUAGES

#: Both sides look by themselves only after 30 s: whoever has to wait longer than this has slept through a message.
BOUND = 5.0


@pytest.mark.parametrize("kind", ["lock", "fenced"])
@pytest.mark.parametrize("language", LANGUAGES)
def test_alternating_handovers(
    request: pytest.FixtureRequest,
    fleet: Fleet,
    process: Callable[[str], Process],
    theirs: Redisson,
    name: str,
    language: str,
    kind: str,
) -> None:
    rounds: int = request.config.getoption("--handovers")
    sides: list[Side] = [process(language), theirs.thread(kind)]
    # As it comes, the release meets the acquire, the subscription or the sleep of the other side. In every other pair of rounds
    # the waiter is sure to sleep.
    asleep = cycle([False, False, True, True])
    holds: list[Hold] = []
    sides[0].tell_acquire(name)
    grant = sides[0].got()
    for turn, waits in zip(range(rounds), asleep, strict=False):
        holder, waiter = sides[turn % 2], sides[1 - turn % 2]
        waiter.tell_acquire(name)
        if waits:
            listening(fleet, name)
        holds.append(Hold(grant.at, holder.release(name), grant.token))
        grant = waiter.got(BOUND)
    holds.append(Hold(grant.at, sides[rounds % 2].release(name), grant.token))
    assert len(holds) == rounds + 1
    check_disjoint(holds)


@pytest.mark.parametrize("kind", ["lock", "fenced"])
def test_a_crowd_of_both_sides(
    fleet: Fleet, process: Callable[[str], Process], peer: Peer, theirs: Redisson, name: str, kind: str
) -> None:
    rounds = 100
    other = peer.open(fleet.server.admin_url)
    crowd: list[Side] = [process(language) for language in LANGUAGES]
    # As many of theirs: threads of two clients by turns.
    crowd += [client.thread(kind) for client in islice(cycle([theirs, other]), max(2, len(LANGUAGES)))]
    for member in crowd:
        member.tell_contend(name, rounds)
    holds: list[Hold] = []
    for member in crowd:
        while (hold := member.hold(bound=25)) is not None:
            holds.append(hold)
    assert len(holds) == rounds * len(crowd)
    check_disjoint(holds)
    other.close()


def test_handovers_while_processes_stand_in_the_queue(
    request: pytest.FixtureRequest, fleet: Fleet, process: Callable[[str], Process], theirs: Redisson, name: str
) -> None:
    rounds: int = request.config.getoption("--handovers") // 4
    in_the_queue = ["C++", "Node", "Java"]
    members: list[Side] = [*(process(language) for language in in_the_queue), theirs.thread("fenced")]
    for member in members:
        member.tell_contend(name, rounds)
    holds: list[tuple[Hold, bool]] = []
    for member in members:
        last: Hold | None = None
        while (hold := member.hold(bound=60)) is not None:
            waited = 0 if last is None else hold.begin - last.end
            assert waited < BOUND * 1e6, f"{hold} came after {waited} us"
            holds.append((hold, member is members[-1]))
            last = hold
    check_disjoint(hold for hold, _ in holds)
    holds.sort()
    changes = sum(first[1] != second[1] for first, second in pairwise(holds))
    # Redisson asks again at once and may come before the queue's head, also several times in a row: not every other hold is its.
    assert changes > rounds // 10, f"only {changes} hand-overs from one side to the other among {len(holds)} holds"
