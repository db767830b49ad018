"""What the demo's shared file must look like when the lock has kept its promise."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from itertools import pairwise


@dataclass
class Verdict:
    """What was found in the file."""

    counter: int
    lines: int
    problems: list[str] = field(default_factory=list)


def judge(text: str, expected: dict[str, int]) -> Verdict:
    """Checks the counter, who wrote how many lines, and the order of the tokens.

    `expected` says how many changes each worker made. A lost update shows in the counter or as a missing line; two holders at
    once mostly show as tokens out of order too.
    """
    first, *rest = text.splitlines()
    changes = [line.split(" ") for line in rest]
    verdict = Verdict(int(first), len(changes))
    total = sum(expected.values())
    if verdict.counter != total:
        verdict.problems.append(f"the counter says {verdict.counter}, the workers made {total} changes")
    wrote = Counter(line[-1] for line in changes)
    for who in expected.keys() | wrote.keys():
        if wrote[who] != expected.get(who, 0):
            verdict.problems.append(f"{who} made {expected.get(who, 0)} changes, the file has {wrote[who]} lines of it")
    try:
        tokens = [int(token) for token, _ in changes]
    except ValueError:
        verdict.problems.append("a line is damaged")
        return verdict
    for number, (before, after) in enumerate(pairwise(tokens), start=2):
        if after <= before:
            verdict.problems.append(f"change {number} has token {after}, the one before it {before}")
            break
    return verdict
