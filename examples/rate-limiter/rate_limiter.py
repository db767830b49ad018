"""Three requests a minute for everybody: the fourth is told when to come back."""

import os

import libdlock

with libdlock.connect(os.environ.get("REDIS_URL", "redis://127.0.0.1:6379")) as client:
    api = client.rate_limiter("example-api", rate=3, per=60)
    api.reset()  # earlier runs have spent tokens

    for request in range(1, 5):
        decision = api.try_acquire()
        if decision:
            print(f"request {request} is allowed, {decision.remaining} left")
        elif decision.retry_after is not None and decision.retry_after <= 20:
            print(f"request {request} is refused, and may come back within 20 s")
