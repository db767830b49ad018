"""The Python process of the interop tests: does what the lines on its input say, one after the other.

    worker.py URL

`acquire NAME` answers `acquired <us> <token>`, `release NAME` answers `released <us at the call>`; `contend NAME ROUNDS` says
`hold <token> <from us> <to us>` for each round and `done` at the end; `spend NAME` takes one of the ten tokens an hour of a rate
limiter and answers `spent <1 or 0> <remaining>`. Times are of CLOCK_MONOTONIC, one for all processes.
"""

from __future__ import annotations

import functools
import sys
import time

import libdlock


def now_us() -> int:
    return time.monotonic_ns() // 1000


def main() -> None:
    client = libdlock.connect(sys.argv[1])
    lock = functools.cache(client.lock)
    print("ready", flush=True)
    for line in sys.stdin:
        match line.split():
            case ["acquire", name]:
                lock(name).acquire()
                acquired = now_us()
                held = lock(name).held
                assert held is not None
                print("acquired", acquired, held.token, flush=True)
            case ["release", name]:
                called = now_us()
                lock(name).release()
                print("released", called, flush=True)
            case ["contend", name, rounds]:
                for _ in range(int(rounds)):
                    with lock(name) as held:
                        acquired = now_us()
                        print("hold", held.token, acquired, now_us())
                print("done", flush=True)
            case ["spend", name]:
                decision = client.rate_limiter(name, rate=10, per=3600).try_acquire()
                print("spent", int(decision.allowed), decision.remaining, flush=True)
            case _:
                raise ValueError(f"cannot read {line!r}")


if __name__ == "__main__":
    main()
