"""Two clients take turns on one lock."""

import os

import libdlock

url = os.environ.get("REDIS_URL", "redis://127.0.0.1:6379")

with libdlock.connect(url) as first, libdlock.connect(url) as second:
    with first.lock("example-lock", wait=5) as held:
        print("the first client holds the lock")
        # Send the token with every write: the resource refuses one that is lower than the highest it has seen.
        token = held.token
        if not second.lock("example-lock").acquire(blocking=False):
            print("the second client finds it busy")

    with second.lock("example-lock", wait=5) as held:
        if held.token > token:
            print("the second client holds it, with a larger token")
