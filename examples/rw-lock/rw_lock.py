"""Two clients share a read-write lock."""

import os

import libdlock

url = os.environ.get("REDIS_URL", "redis://127.0.0.1:6379")

with libdlock.connect(url) as one, libdlock.connect(url) as two:
    first, second = one.rw_lock("example-rw-lock"), two.rw_lock("example-rw-lock")

    with first.read, second.read.take() as reads:
        print("both clients read at the same time")
        reads.release()
        if not second.write.acquire(blocking=False):
            print("the second client cannot write while the first reads")

    with second.write as writes:
        print("the second client writes alone")

        # From now on others may read too, and nobody has written in between.
        writes.downgrade()
        with first.read.take():
            print("it goes on as a reader, and the first client reads again")
