"""Lock and unlock as fast as CALLERS threads can, each with a lock of its own: the Python worker of bench/run.py.

pairs.py URL CALLERS SECONDS
"""

from __future__ import annotations

import json
import sys
import threading
import time

import libdlock


class Caller(threading.Thread):
    """One thread and its lock."""

    def __init__(self, lock: libdlock.Lock, length: float, warm: threading.Barrier, start_line: threading.Barrier) -> None:
        super().__init__(daemon=True)
        self.lock, self.length, self.warm, self.start_line = lock, length, warm, start_line
        self.pairs = 0

    def run(self) -> None:
        """Pairs until the time is over."""
        with self.lock:
            pass  # connections and keys are warm before the clock starts
        self.warm.wait()
        self.start_line.wait()
        end = time.monotonic() + self.length
        pairs = 0
        lock = self.lock
        while time.monotonic() < end:
            with lock:
                pairs += 1
        self.pairs = pairs


def main(url: str, callers: str, seconds: str) -> None:
    """Speaks the worker protocol."""
    count = int(callers)
    warm, start_line = threading.Barrier(count + 1), threading.Barrier(count + 1)
    with libdlock.connect(url) as client:
        threads = [Caller(client.lock(f"bench-{i}"), float(seconds), warm, start_line) for i in range(count)]
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
        print(json.dumps({"pairs": sum(thread.pairs for thread in threads), "seconds": taken}), flush=True)
        sys.stdin.read()  # the driver reads our CPU time before it lets go


if __name__ == "__main__":
    main(*sys.argv[1:])
