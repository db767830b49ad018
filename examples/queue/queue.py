"""A job for later, one that fails and comes again, and a dead one."""

import os

import libdlock

url = os.environ.get("REDIS_URL", "redis://127.0.0.1:6379")

with libdlock.connect(url) as client:
    mails = client.queue("example-queue", max_attempts=2)

    mails.put("to: ada", id="ada-1", delay=0.1)
    again = mails.put("to: ada", id="ada-1")
    print("put a second time:", str(again.is_new).lower())
    print("due at once:", str(mails.try_take() is not None).lower())

    first = mails.take()
    print(f"{first.payload.decode()}, attempt {first.attempt}")
    first.nack(delay=0.05, reason="no route")

    second = mails.take()
    print(f"{second.payload.decode()}, attempt {second.attempt}")
    second.nack(reason="still no route")

    (dead,) = mails.dead.list()
    print(f"dead after {dead.attempts} attempts: {dead.reason}")

    mails.dead.requeue("ada-1")
    with mails.take():
        pass  # at its end the job is acknowledged
    print("left:", mails.counts().ready)
