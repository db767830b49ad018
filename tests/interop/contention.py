"""Workers that all want one thing."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

from helpers import Worker

#: What a crowd may take in all, which is the machine's affair.
CROWD = 120.0
#: No turn waits so long for those of others; who is not woken waits until it polls, after 30 s.
UNWOKEN = 20_000_000  # us


def check_woken(waits: Iterable[int]) -> None:
    """Nobody got its turn by a poll."""
    longest = max(waits)
    assert longest < UNWOKEN, f"one waited for {longest} us"


def contend(contenders: list[Worker], lock: str, rounds: int) -> None:
    """Has each acquire the lock so often; fails if two held it at once, or the tokens are not in order."""
    for worker in contenders:
        worker.tell(f"contend {lock} {rounds}")
    holds: list[tuple[int, int, int]] = []
    for worker in contenders:
        its_own: list[tuple[int, int, int]] = []
        while (answer := worker.answer(CROWD)) != ["done"]:
            kind, token, begin, end = answer
            assert kind == "hold", answer
            its_own.append((int(begin), int(end), int(token)))
        check_woken(later[0] - earlier[1] for earlier, later in pairwise(its_own))
        holds += its_own
    assert len(holds) == rounds * len(contenders)
    holds.sort()
    for (_, first_end, first_token), (second_begin, _, second_token) in pairwise(holds):
        assert first_end <= second_begin, "two holders at once"
        assert first_token < second_token, "fencing tokens increase in the order of grants"
