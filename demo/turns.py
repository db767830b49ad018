"""What both Python workers of the demo do in a turn and say about it."""

from __future__ import annotations

import json
import os

COUNTER_WIDTH = 12  # digits on the file's first line


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
        self.done = self.handovers = 0
        self.waited = self.longest = 0.0

    def add(self, wait: float, handed_over: bool) -> None:
        """One turn more."""
        self.done += 1
        self.handovers += handed_over
        self.waited += wait
        self.longest = max(self.longest, wait)

    def report(self) -> None:
        """One line for the coordinator."""
        numbers = {"done": self.done, "handovers": self.handovers, "waited": self.waited, "longest": self.longest}
        print(json.dumps(numbers), flush=True)
