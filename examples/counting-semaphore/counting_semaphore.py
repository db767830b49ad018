"""Two clients, of which one takes permits and the other brings them back."""

import os

import libdlock

url = os.environ.get("REDIS_URL", "redis://127.0.0.1:6379")

with libdlock.connect(url) as first, libdlock.connect(url) as second:
    slots = first.counting_semaphore("example-counting-semaphore")
    slots.drain()
    slots.add_permits(2)
    slots.acquire(2)
    print("the first client has taken both permits")

    same = second.counting_semaphore("example-counting-semaphore")
    if not same.try_acquire():
        print("the second client finds none available")

    # By whomever: a permit has no owner.
    same.release(2)
    print(f"the second client has brought {slots.inspect().available} back")
