"""The Python process of the interop tests: does what the lines on its input say, one after the other.

    worker.py URL

`acquire NAME` answers `acquired <us> <token>`, `renew NAME MS` acquires with that watchdog lease and answers `renewed`,
`release NAME` answers `released <us at the call>`; `contend NAME ROUNDS` says
`hold <token> <from us> <to us>` for each round and `done` at the end; `spend NAME` takes one of the ten tokens an hour of a rate
limiter and answers `spent <1 or 0> <remaining>`. `crowd NAME ROUNDS CALLERS` has that many callers contend, and says of all their
rounds `hold <token> <from us> <to us> <asked us>` when they are done, then `done`. `watch NAME COUNT` acquires NAME-0, NAME-1 and
so on, answers `watching`, and says of each that is lost, when it learns it, `lost <us for which it is still valid>`.

`permits NAME TOTAL COUNT` acquires permits of a semaphore and answers `permits <us> <their ids, with commas>`; `give NAME`
releases them and answers `gave <us at the call>`. `share NAME TOTAL ROUNDS WANTS` has a caller for each number of WANTS (with
commas), who acquires so many permits ROUNDS times and holds them for a millisecond; of all their turns it says in the end `turn
<permits> <from us> <to us> <asked us>`, then `done`.

`side NAME read|write` acquires that side of a read-write lock and answers `side <us> <token>`; `downgrade NAME` has it go on as a
reader and answers `downgraded <us at the call> <token>`; `leave NAME` releases it and answers `left <us at the call>`. `mix NAME
ROUNDS SIDES` has a caller for each of SIDES (with commas), who acquires that side ROUNDS times and holds it for a millisecond; of
all their turns it says in the end `turn <side> <from us> <to us> <asked us> <token>`, then `done`.

`number POOL` leases a worker number of a pool of 4 bits and answers `number <the number>`; `ids POOL COUNT` makes ids under it
and answers `ids <all, with commas>`, or `ids none` when it is lost or given back; `back POOL` gives it back and answers `back`.

Times are of CLOCK_MONOTONIC, one for all processes.
"""

from __future__ import annotations

import functools
import sys
import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TypeVar

import libdlock

H = TypeVar("H")


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


def turns(rounds: int, wants: str, take: Callable[[str], AbstractContextManager[H]], of: Callable[[H], object]) -> None:
    """Has a caller for each word of `wants`, with commas; says of all their turns what `of` makes of the holds, too."""
    said: list[tuple[object, ...]] = []

    def caller(want: str) -> None:
        for _ in range(rounds):
            asked = now_us()
            with take(want) as held:
                begin = now_us()
                time.sleep(0.001)
                said.append((want, begin, now_us(), asked, of(held)))

    threads = [threading.Thread(target=caller, args=(want,)) for want in wants.split(",")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for turn in said:
        print("turn", *turn)
    print("done", flush=True)


def permits_of(semaphore: libdlock.Semaphore, count: str) -> libdlock.OwnedHold:
    return semaphore.take(int(count))


def side_of(lock: libdlock.RwLock, side: str) -> libdlock.RwLockSide:
    return lock.write if side == "write" else lock.read


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


def made(generator: libdlock.Snowflake, count: int) -> str:
    try:
        return ",".join(map(str, generator.next_ids(count)))
    except (libdlock.LockLost, libdlock.NotHeld):
        return "none"


def main() -> None:
    client = libdlock.connect(sys.argv[1])
    lock = functools.cache(client.lock)
    renewed: list[libdlock.Lock] = []
    permits: dict[str, libdlock.OwnedHold] = {}
    sides: dict[str, libdlock.OwnedRwHold] = {}
    numbers: dict[str, libdlock.Worker] = {}
    generators: dict[str, libdlock.Snowflake] = {}
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
            case ["permits", name, total, count]:
                permits[name] = client.semaphore(name, int(total)).take(int(count))
                print("permits", now_us(), ",".join(permits[name].permits), flush=True)
            case ["give", name]:
                called = now_us()
                permits.pop(name).release()
                print("gave", called, flush=True)
            case ["share", name, total, rounds, wants]:
                semaphore = client.semaphore(name, int(total))
                turns(int(rounds), wants, functools.partial(permits_of, semaphore), lambda _: "")
            case ["side", name, side]:
                sides[name] = side_of(client.rw_lock(name), side).take()
                print("side", now_us(), sides[name].token, flush=True)
            case ["downgrade", name]:
                called = now_us()
                sides[name] = sides[name].downgrade()
                print("downgraded", called, sides[name].token, flush=True)
            case ["leave", name]:
                called = now_us()
                sides.pop(name).release()
                print("left", called, flush=True)
            case ["mix", name, rounds, wants]:
                rw = client.rw_lock(name)
                turns(int(rounds), wants, functools.partial(side_of, rw), lambda held: held.token)
            case ["number", pool]:
                numbers[pool] = client.worker(pool, 4)
                generators[pool] = numbers[pool].snowflake()
                print("number", numbers[pool].number, flush=True)
            case ["ids", pool, count]:
                print("ids", made(generators[pool], int(count)), flush=True)
            case ["back", pool]:
                numbers.pop(pool).release()
                print("back", flush=True)
            case ["spend", name]:
                decision = client.rate_limiter(name, rate=10, per=3600).try_acquire()
                print("spent", int(decision.allowed), decision.remaining, flush=True)
            case _:
                raise ValueError(f"cannot read {line!r}")


if __name__ == "__main__":
    main()
