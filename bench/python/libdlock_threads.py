"""The Python worker of bench/run.py, in threads: libdlock_threads.py WHAT URL CALLERS SECONDS; see bench/README.md."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

import libdlock
import threads
from protocol import answer, ready

#: So many ids in a batch, and so many of what is quick between two looks at the clock, in every language.
BATCH = 1000

#: So many keys in a batch, in every language.
KEYS = 100

#: So many jobs in a batch, and what is in each, in every language.
JOBS = 100
PAYLOAD = b"x" * 100

#: Seconds between two acquires of `lost`, so that the leases end one after the other.
APART = 0.005


def decisions(client: libdlock.Client) -> threads.Work:
    """Decisions of one rate limiter, so wide that nobody is refused."""
    limiter = client.rate_limiter("bench", rate=1_000_000, per=1)

    def work(end: float) -> int:
        done = 0
        while time.monotonic() < end:
            assert limiter.try_acquire().allowed
            done += 1
        return done

    return work


def prefetched(client: libdlock.Client) -> threads.Work:
    """Of one that hardly ever asks the server."""
    limiter = client.rate_limiter("bench", rate=1_000_000_000, per=1, prefetch=0.5)

    def work(end: float) -> int:
        done = 0
        while time.monotonic() < end:
            for _ in range(BATCH):
                assert limiter.try_acquire().allowed
            done += BATCH
        return done

    return work


def decision_batches(client: libdlock.Client) -> threads.Work:
    """The same, of a hundred keys at once."""
    limiter = client.rate_limiter("bench", rate=1_000_000, per=1)
    batch = batch_of_keys("user", 0)

    def work(end: float) -> int:
        done = 0
        while time.monotonic() < end:
            for decision in limiter.try_acquire_many(batch):
                assert decision
            done += len(batch)
        return done

    return work


def batch_of_keys(prefix: str, first: int) -> list[tuple[str, int]]:
    """The keys from the first on, with a cost of one token each."""
    return [(f"{prefix}:{number}", 1) for number in range(first, first + KEYS)]


def keys(client: libdlock.Client, count: int) -> None:
    """Asks once for each of so many keys of one limiter, nine of ten in batches."""
    limiter = client.rate_limiter("bench", rate=1, per=24 * 3600)
    limiter.try_acquire_many(batch_of_keys("warm", 0))
    ready()
    begun = time.monotonic()
    for first in range(0, count, KEYS):
        batch = batch_of_keys("user", first)
        if first // KEYS % 10 == 0:
            assert all(limiter.try_acquire(cost, key=key) for key, cost in batch)
        else:
            assert all(limiter.try_acquire_many(batch))
    answer({"done": count, "seconds": time.monotonic() - begun})


def ids(generator: libdlock.Snowflake) -> threads.Work:
    """Ids one by one."""

    def work(end: float) -> int:
        done = 0
        while time.monotonic() < end:
            for _ in range(BATCH):
                generator.next_id()
            done += BATCH
        return done

    return work


def batches(generator: libdlock.Snowflake) -> threads.Work:
    """Ids in batches."""

    def work(end: float) -> int:
        done = 0
        while time.monotonic() < end:
            done += len(generator.next_ids(BATCH))
        return done

    return work


def reentry(lock: libdlock.Lock) -> threads.Work:
    """Lock and unlock what the thread holds: each thread takes it the first time, and never lets go of it."""

    def work(end: float) -> int:
        done = 0
        if lock.hold_count == 0:
            lock.acquire()
        while time.monotonic() < end:
            for _ in range(BATCH):
                lock.acquire()
                lock.release()
            done += BATCH
        return done

    return work


def jobs(queue: libdlock.Queue) -> threads.Work:
    """A job is put, one is taken, and ended."""

    def work(end: float) -> int:
        done = 0
        while time.monotonic() < end:
            queue.put(PAYLOAD)
            queue.take().ack()
            done += 1
        return done

    return work


def job_batches(queue: libdlock.Queue) -> threads.Work:
    """The same of a batch."""

    def work(end: float) -> int:
        done = 0
        while time.monotonic() < end:
            queue.put_many([PAYLOAD] * JOBS)
            done += sum(queue.ack_many(queue.take_many(JOBS)))
        return done

    return work


def lost(client: libdlock.Client, callers: int) -> None:
    """Holds so many locks; from the start on the server does not answer. Tells how long before each lease's end its signal
    came."""
    holds = []
    for number in range(callers):
        lock = client.lock(f"bench-{number}")
        holds.append(lock.__enter__())
        time.sleep(APART)

    def waiting(held: libdlock.Held) -> Callable[[float], float]:
        def run(begun: float) -> float:
            ends = time.monotonic() + held.remaining
            assert held.lost.wait()
            return ends - time.monotonic()

        return run

    _, margins = threads.everybody([waiting(held) for held in holds])
    answer({"margins_ms": [1e3 * margin for margin in margins]})


def main(what: str, url: str, count: str, length: str) -> None:
    """Speaks the worker protocol."""
    callers, seconds = int(count), float(length)
    with libdlock.connect(url) as client:
        if what == "decisions":
            threads.loops([decisions(client) for _ in range(callers)], seconds)
        elif what == "prefetched":
            threads.loops([prefetched(client) for _ in range(callers)], seconds)
        elif what == "decision_batches":
            threads.loops([decision_batches(client) for _ in range(callers)], seconds)
        elif what == "keys":
            keys(client, callers)
        elif what == "ids":
            threads.loops([ids(libdlock.Snowflake(1, 1)) for _ in range(callers)], seconds)
        elif what == "batches":
            threads.loops([batches(libdlock.Snowflake(1, 1)) for _ in range(callers)], seconds)
        elif what in ("jobs", "job_batches"):
            of = jobs if what == "jobs" else job_batches
            threads.loops([of(client.queue("bench")) for _ in range(callers)], seconds)
        elif what == "reentry":
            threads.loops([reentry(client.lock(f"bench-{number}")) for number in range(callers)], seconds)
        elif what == "lost":
            lost(client, callers)
        else:
            threads.run(what, client.lock, callers, seconds)


if __name__ == "__main__":
    main(*sys.argv[1:])
