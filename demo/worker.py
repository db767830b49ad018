"""One Python process of the demo: threads that take the lock TIMES times between them, and change the shared file inside.

    worker.py URL LOCK FILE TIMES WHO [without-lock]

Prints `ready`, starts on a line of input, then prints its progress as JSON lines.
"""

from __future__ import annotations

import contextlib
import itertools
import sys
import threading
import time

import libdlock
from turns import Progress, change

THREADS = 2
REPORT_EVERY = 0.25  # seconds


class Worker:
    """What the threads of this process share."""

    def __init__(self, lock: libdlock.Lock, path: str, times: int, who: str, locked: bool) -> None:
        self.lock, self.path, self.who, self.locked = lock, path, who, locked
        self.turns = iter(range(times))
        self.turn_taking = threading.Lock()
        self.progress = Progress()
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
                    self.progress.add(wait, handed_over)
        except BaseException as error:
            self.errors.append(error)
            raise

    def report(self) -> None:
        """One line for the coordinator."""
        with self.turn_taking:
            self.progress.report()


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
