"""A start that waits until two workers are ready."""

import os
import threading

import libdlock

url = os.environ.get("REDIS_URL", "redis://127.0.0.1:6379")

with libdlock.connect(url) as starter, libdlock.connect(url) as worker:
    ready = starter.latch("example-latch")
    ready.try_set_count(2)

    left = worker.latch("example-latch").count_down()
    print(f"the first worker is ready, {left} is left")
    if not ready.wait(timeout=0.1):
        print("not everybody is ready")

    second = threading.Thread(target=worker.latch("example-latch").count_down)
    second.start()
    ready.wait()
    print("everybody is ready")
    second.join()
