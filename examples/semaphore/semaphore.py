"""Two clients share three permits."""

import os

import libdlock

url = os.environ.get("REDIS_URL", "redis://127.0.0.1:6379")

with libdlock.connect(url) as first, libdlock.connect(url) as second:
    other = second.semaphore("example-semaphore", 3)
    # Those of a process that dies come back when its lease ends.
    with first.semaphore("example-semaphore", 3).take(2):
        print("the first client holds two of three permits")
        if not other.acquire(blocking=False, permits=2):
            print("the second client finds no two available")

    with other.take(2, wait=5):
        print("the second client holds two")
