"""The Python worker of bench/run.py: does something as often as CALLERS threads can in SECONDS.

worker.py pairs|decisions|ids|batches URL CALLERS SECONDS
"""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Callable

import libdlock

BATCH = 1000  # ids

#: Does what is measured until a point of time.monotonic(); says how often.
Work = Callable[[float], int]


def pairs(client: libdlock.Client, caller: int) -> Work:
    """Lock and unlock, a lock for each caller."""
    lock = client.lock(f"bench-{caller}")

    def work(end: float) -> int:
        done = 0
        while time.monotonic() < end:
            with lock:
                done += 1
        return done

    return work


def decisions(client: libdlock.Client, caller: int) -> Work:
    """Decisions of one rate limiter, so wide that nobody is refused."""
    limiter = client.rate_limiter("bench", rate=1_000_000, per=1)

    def work(end: float) -> int:
        done = 0
        while time.monotonic() < end:
            assert limiter.try_acquire().allowed
            done += 1
        return done

    return work


def ids(client: libdlock.Client, caller: int) -> Work:
    """Ids one by one."""
    generator = libdlock.Snowflake(1, 1)

    def work(end: float) -> int:
        done = 0
        while time.monotonic() < end:
            for _ in range(BATCH):  # asking for the time costs as much as an id
                generator.next_id()
            done += BATCH
        return done

    return work


def batches(client: libdlock.Client, caller: int) -> Work:
    """Ids in batches."""
    generator = libdlock.Snowflake(1, 1)

    def work(end: float) -> int:
        done = 0
        while time.monotonic() < end:
            done += len(generator.next_ids(BATCH))
        return done

    return work


WORK = {"pairs": pairs, "decisions": decisions, "ids": ids, "batches": batches}


class Caller(threading.Thread):
    """One thread at its work."""

    def __init__(self, work: Work, length: float, warm: threading.Barrier, start_line: threading.Barrier) -> None:
        super().__init__(daemon=True)
        self.work, self.length, self.warm, self.start_line = work, length, warm, start_line
        self.done = 0

    def run(self) -> None:
        """Works until the time is over."""
        self.work(time.monotonic() + 0.1)  # connections and keys are warm before the clock starts
        self.warm.wait()
        self.start_line.wait()
        self.done = self.work(time.monotonic() + self.length)


def main(what: str, url: str, callers: str, seconds: str) -> None:
    """Speaks the worker protocol."""
    count = int(callers)
    warm, start_line = threading.Barrier(count + 1), threading.Barrier(count + 1)
    with libdlock.connect(url) as client:
        threads = [Caller(WORK[what](client, i), float(seconds), warm, start_line) for i in range(count)]
        for thread in threads:
            thread.start()
        warm.wait()
        print("ready", flush=True)
        sys.stdin.readline()
        begun = time.monotonic()
        start_line.wait()
        for thread in threads:
            thread.join()
        taken = time.monotonic() - begun
        print(json.dumps({"done": sum(thread.done for thread in threads), "seconds": taken}), flush=True)
        sys.stdin.read()  # the driver reads our CPU time before it lets go


if __name__ == "__main__":
    main(*sys.argv[1:])
