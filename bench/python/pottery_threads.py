"""The peer of the Python worker on several servers: pottery's Redlock in threads. pottery_threads.py WHAT URL CALLERS SECONDS"""

from __future__ import annotations

import sys

import threads
from pottery import Redlock  # type: ignore[import-not-found]
from redis import Redis


def main(what: str, url: str, callers: str, seconds: str) -> None:
    """Speaks the worker protocol."""
    addresses = url.removeprefix("redis+quorum://").partition("?")[0].split(",")
    masters = {Redis.from_url(f"redis://{address}") for address in addresses}
    # As it comes: a lease of 10 s that nothing extends, and a wait without end.
    threads.run(what, lambda name: Redlock(key=name, masters=masters), int(callers), float(seconds))


if __name__ == "__main__":
    main(*sys.argv[1:])
