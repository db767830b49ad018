"""Waits as the workers tell them: buckets of which 32 double the time, so a percentile is good to 1 %."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Waits:
    """The waits of all callers of all processes in one run."""

    done: int
    all: int  # with what was before and after the window that is counted
    seconds: float
    mean_ms: float
    p50_ms: float
    p99_ms: float
    longest_ms: float

    @property
    def per_second(self) -> float:
        """Grants within the window."""
        return self.done / self.seconds


def merged(answers: Iterable[dict[str, Any]]) -> Waits:
    """The results of a team."""
    buckets: Counter[int] = Counter()
    done = total = 0
    waited = seconds = 0.0
    for answer in answers:
        done += answer["done"]
        total += answer["all"]
        waited += answer["waited"]
        seconds = answer["seconds"]  # the same for all
        for bucket, count in answer["waits"]:
            buckets[bucket] += count

    def percentile(share: float) -> float:
        passed = 0
        for bucket, count in sorted(buckets.items()):
            passed += count
            if passed >= share * done:
                return float(2 ** (bucket / 32)) * 1e-6
        return float("nan")

    mean = 1e3 * waited / done if done else float("nan")
    return Waits(done, total, seconds, mean, percentile(0.5), percentile(0.99), percentile(1))
