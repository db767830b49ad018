"""What the two Python workers of the demo's queues share: how a job is done, and what is said of it."""

from __future__ import annotations

import contextlib
import json
import os
import threading
from collections.abc import Iterator

CONCURRENCY = 4
INSIDE = 0.002  # seconds that a job takes
LEASE = 2.0  # seconds after which a killed worker's jobs come again
REPORT_EVERY = 0.1  # seconds


def job_ids(who: str, count: int) -> list[str]:
    """The ids of the jobs that a worker puts."""
    return [f"{who}-{number}" for number in range(count)]


def make(folder: str, job: str, who: str) -> bool:
    """Does a job; false when it was done before."""
    try:
        file = os.open(os.path.join(folder, job), os.O_WRONLY | os.O_CREAT | os.O_EXCL)
    except FileExistsError:
        return False
    with os.fdopen(file, "w") as made:
        made.write(who)
    return True


class Progress:
    """How many jobs this process has done, how many deliveries were not the first, and how many found the job done."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.numbers = {"done": 0, "repeated": 0, "found_done": 0}

    def add(self, made: bool, attempt: int) -> None:
        """Counts a delivery."""
        with self._lock:
            self.numbers["done"] += made
            self.numbers["found_done"] += not made
            self.numbers["repeated"] += attempt > 1

    @contextlib.contextmanager
    def reporting(self) -> Iterator[None]:
        """A line for the coordinator now and then, and one at the end."""
        over = threading.Event()

        def report() -> None:
            while not over.wait(REPORT_EVERY):
                print(json.dumps(self.numbers), flush=True)

        reporter = threading.Thread(target=report, daemon=True)
        reporter.start()
        try:
            yield
        finally:
            over.set()
            reporter.join()
            print(json.dumps(self.numbers), flush=True)
