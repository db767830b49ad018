"""The peer of the Python worker: redis-py's Lock in threads. redis_py_threads.py WHAT URL CALLERS SECONDS"""

from __future__ import annotations

import sys

import redis
import threads

#: Seconds. It is not renewed.
LEASE = 30


def main(what: str, url: str, callers: str, seconds: str) -> None:
    """Speaks the worker protocol."""
    client = redis.Redis.from_url(url)
    threads.run(what, lambda name: client.lock(name, timeout=LEASE), int(callers), float(seconds))


if __name__ == "__main__":
    main(*sys.argv[1:])
