"""What both Python workers of the demo do in a turn, in a round and on a visit, and say about it."""

from __future__ import annotations

import json
import os
import time

COUNTER_WIDTH = 12  # digits on the file's first line
#: Callers that share permits, beside those that take the lock: the first takes one at a time, the second two.
SHARERS = 2
INSIDE = 0.001  # seconds that a round or a visit lasts
ROUNDS_IN = 5  # a round for so many turns
#: Callers of the read-write lock, beside those.
VISITORS = 2
WRITES_IN = 4  # every fourth visit of each is a writer's


def now_us() -> int:
    """Microseconds on CLOCK_MONOTONIC, which is one for all processes."""
    return time.monotonic_ns() // 1000


def rounds_of(times: int) -> int:
    """How many rounds each sharer makes."""
    return times // ROUNDS_IN // SHARERS


def visits_of(times: int) -> int:
    """How many visits each visitor makes."""
    return times // ROUNDS_IN // VISITORS


def writes(visit: int) -> bool:
    """Whether it is a writer's visit; counted from 0."""
    return visit % WRITES_IN == WRITES_IN - 1


def write_round(path: str, entered: int, how: str | int, who: str) -> None:
    """One line at the end of that file, written as one: nothing protects it."""
    with open(path, "ab", buffering=0) as file:
        file.write(f"{entered} {now_us()} {how} {who}\n".encode())


def change(path: str, line: str) -> bool:
    """Reads, changes and rewrites the shared file, in steps that nothing but the lock protects: the counter on its first line,
    and a line at its end, which ends with who wrote it. Says whether the file was last changed by somebody else."""
    with open(path, "r+b", buffering=0) as file:
        counter = int(file.read(COUNTER_WIDTH))
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - 128))
        last = file.read().rsplit(b"\n", 2)[-2].rsplit(b" ", 1)[-1]
        file.write(f"{line}\n".encode())
        file.seek(0)
        file.write(f"{counter + 1:0{COUNTER_WIDTH}}".encode())
    return last != line.rsplit(" ", 1)[-1].encode()


class Progress:
    """What a worker has done so far."""

    def __init__(self) -> None:
        self.done = self.handovers = self.rounds = self.visits = 0
        self.waited = self.longest = 0.0

    def add(self, wait: float, handed_over: bool) -> None:
        """One turn more."""
        self.done += 1
        self.handovers += handed_over
        self.waited += wait
        self.longest = max(self.longest, wait)

    def report(self) -> None:
        """One line for the coordinator."""
        print(json.dumps(vars(self)), flush=True)
