"""Two processes lease worker numbers of one pool and make ids under them. Nobody has to hand the numbers out."""

import os

import libdlock

url = os.environ.get("REDIS_URL", "redis://127.0.0.1:6379")

with libdlock.connect(url) as one, libdlock.connect(url) as two:
    first, second = one.worker("example-worker"), two.worker("example-worker")
    print(f"leased {first.number} and {second.number}")

    ids = first.snowflake()
    last = ids.next_ids(1000)[-1]
    first.release()
    try:
        ids.next_id()
    except libdlock.NotHeld:
        print("no ids without a number")

    with one.worker("example-worker") as again:
        print(f"leased {again.number} again")
        if again.snowflake().next_id() > last:
            print("its ids go on behind the last")
    second.release()
