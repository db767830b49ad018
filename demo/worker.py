"""One Python process of the demo: threads that take the lock TIMES times between them, and change the shared file inside.

    worker.py URL LOCK FILE TIMES WHO [without-lock]

Prints `ready`, starts on a line of input, then prints its progress as JSON lines.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import sys
import threading
import time

import libdlock

THREADS = 2
REPORT_EVERY = 0.25  # seconds
COUNTER_WIDTH = 12  # digits on the file's first line


def change(path: str, token: int, who: str) -> bool:
    """Reads, changes and rewrites the shared file, in steps that nothing but the lock protects: the counter on its first line,
    and a line at its end. Says whether the file was last changed by somebody else."""
    with open(path, "r+b", buffering=0) as file:
        counter = int(file.read(COUNTER_WIDTH))
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - 64))
        last = file.read().rsplit(b"\n", 2)[-2].rsplit(b" ", 1)[-1]
        file.write(f"{token} {who}\n".encode())
        file.seek(0)
        file.write(f"{counter + 1:0{COUNTER_WIDTH}}".encode())
    return last != who.encode()


class Worker:
    """What the threads of this process share."""

    def __init__(self, lock: libdlock.Lock, path: str, times: int, who: str, locked: bool) -> None:
        self.lock, self.path, self.who, self.locked = lock, path, who, locked
        self.turns = iter(range(times))
        self.turn_taking = threading.Lock()
        self.done = self.handovers = 0
        self.waited = self.longest = 0.0
        self.errors: list[BaseException] = []

    def another_turn(self) -> bool:
        """Whether there is one left for the calling thread."""
        with self.turn_taking:
            return next(self.turns, None) is not None

    def run(self) -> None:
        """What each thread does."""
        invented = itertools.count(1)
        try:
            while self.another_turn():
                asked = time.monotonic()
                with self.lock if self.locked else contextlib.nullcontext() as held:
                    wait = time.monotonic() - asked
                    handed_over = change(self.path, held.token if held else next(invented), self.who)
                with self.turn_taking:
                    self.done += 1
                    self.handovers += handed_over
                    self.waited += wait
                    self.longest = max(self.longest, wait)
        except BaseException as error:
            self.errors.append(error)
            raise

    def report(self) -> None:
        """One line for the coordinator."""
        with self.turn_taking:
            numbers = {"done": self.done, "handovers": self.handovers, "waited": self.waited, "longest": self.longest}
        print(json.dumps(numbers), flush=True)


def main(url: str, name: str, path: str, times: str, who: str, *flags: str) -> int:
    """Runs the threads until all turns are done."""
    with libdlock.connect(url) as client:
        worker = Worker(client.lock(name), path, int(times), who, "without-lock" not in flags)
        print("ready", flush=True)
        sys.stdin.readline()
        threads = [threading.Thread(target=worker.run, daemon=True) for _ in range(THREADS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            while thread.is_alive():
                thread.join(REPORT_EVERY)
                worker.report()
        worker.report()  # the last thread may have ended since
        return 1 if worker.errors else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
