"""Workers that all want one lock."""

from __future__ import annotations

from itertools import pairwise

from helpers import Worker


def contend(contenders: list[Worker], lock: str, rounds: int) -> None:
    """Has each acquire the lock so often; fails if two held it at once, or the tokens are not in order."""
    for worker in contenders:
        worker.tell(f"contend {lock} {rounds}")
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
