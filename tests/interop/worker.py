"""The Python process of the interop tests: does what the lines on its input say, one after the other.

    worker.py URL

`acquire NAME` answers `acquired <us> <token>`, `renew NAME MS` acquires with that watchdog lease and answers `renewed`,
`release NAME` answers `released <us at the call>`; `contend NAME ROUNDS` says
`hold <token> <from us> <to us>` for each round and `done` at the end; `spend NAME` takes one of the ten tokens an hour of a rate
limiter and answers `spent <1 or 0> <remaining>`. `crowd NAME ROUNDS CALLERS` has that many callers contend, and says of all their
rounds `hold <token> <from us> <to us> <asked us>` when they are done, then `done`. `watch NAME COUNT` acquires NAME-0, NAME-1 and
so on, answers `watching`, and says of each that is lost, when it learns it, `lost <us for which it is still valid>`. Times are of
CLOCK_MONOTONIC, one for all processes.
"""

from __future__ import annotations

import functools
import sys
import threading
import time

import libdlock


def now_us() -> int:
    return time.monotonic_ns() // 1000


def crowd(lock: libdlock.Lock, rounds: int, callers: int) -> None:
    holds: list[tuple[int, int, int, int]] = []

    def contend() -> None:
        for _ in range(rounds):
            asked = now_us()
            with lock as held:
                begin = now_us()
                holds.append((held.token, begin, now_us(), asked))

    threads = [threading.Thread(target=contend) for _ in range(callers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for hold in holds:
        print("hold", *hold)
    print("done", flush=True)


def watch(locks: list[libdlock.Lock]) -> None:
    def tell(held: libdlock.Held) -> None:
        assert held.lost.wait()
        print(f"lost {int(held.remaining * 1e6)}\n", end="", flush=True)

    for lock in locks:
        lock.acquire()
        held = lock.held
        assert held is not None
        threading.Thread(target=tell, args=(held,), daemon=True).start()
    print("watching", flush=True)


def main() -> None:
    client = libdlock.connect(sys.argv[1])
    lock = functools.cache(client.lock)
    renewed: list[libdlock.Lock] = []
    print("ready", flush=True)
    for line in sys.stdin:
        match line.split():
            case ["acquire", name]:
                lock(name).acquire()
                acquired = now_us()
                held = lock(name).held
                assert held is not None
                print("acquired", acquired, held.token, flush=True)
            case ["renew", name, lease_ms]:
                renewed.append(client.lock(name, watchdog_lease=int(lease_ms) / 1000))
                renewed[-1].acquire()
                print("renewed", flush=True)
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
            case ["crowd", name, rounds, callers]:
                crowd(lock(name), int(rounds), int(callers))
            case ["watch", name, count]:
                watch([lock(f"{name}-{number}") for number in range(int(count))])
            case ["spend", name]:
                decision = client.rate_limiter(name, rate=10, per=3600).try_acquire()
                print("spent", int(decision.allowed), decision.remaining, flush=True)
            case _:
                raise ValueError(f"cannot read {line!r}")


if __name__ == "__main__":
    main()
