"""The runner of scenarios for Python's threads: see README.md.

    runner.py URL

A line on its input is a step; the answer is `ok name=value...` or `error KIND name=value... : message`.
"""

from __future__ import annotations

import sys
from collections.abc import Coroutine
from typing import Any

import libdlock
from bloom_filter_verbs import BloomFilterVerbs
from counting_semaphore_verbs import CountingSemaphoreVerbs
from hold_verbs import HoldVerbs
from id_generator_verbs import IdGeneratorVerbs
from ids_verbs import IdsVerbs
from latch_verbs import LatchVerbs
from lock_all_verbs import LockAllVerbs
from lock_verbs import LockVerbs
from queue_verbs import QueueVerbs
from rate_limiter_verbs import RateLimiterVerbs
from rw_lock_verbs import RwLockVerbs
from semaphore_verbs import SemaphoreVerbs
from verbs import answer
from worker_verbs import WorkerVerbs


class Runner(
    HoldVerbs,
    LockVerbs,
    LockAllVerbs,
    SemaphoreVerbs,
    CountingSemaphoreVerbs,
    RwLockVerbs,
    LatchVerbs,
    QueueVerbs,
    IdGeneratorVerbs,
    BloomFilterVerbs,
    RateLimiterVerbs,
    IdsVerbs,
    WorkerVerbs,
):
    """All verbs."""


def finish(verb: Coroutine[Any, Any, str]) -> str:
    """The end of a verb that does not suspend."""
    try:
        verb.send(None)
    except StopIteration as ended:
        return str(ended.value)
    raise AssertionError("a call of the package for threads has to be awaited")


def main() -> None:
    runner = Runner(sys.argv[1], libdlock.connect)
    print("ready", flush=True)
    for line in sys.stdin:
        print(finish(answer(runner, line)), flush=True)


if __name__ == "__main__":
    main()
