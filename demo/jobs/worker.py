"""One Python process of the demo's queues: puts COUNT jobs into the queue of NEXT, and does those of the queue of OWN.

    python -m jobs.worker URL NAME FOLDER WHO OWN NEXT COUNT

To do a job is to make the file FOLDER/ID, which cannot be made twice. Prints `ready`, starts on a line of input, then prints its
progress as JSON lines; stops when its input ends.
"""

from __future__ import annotations

import sys
import time

import libdlock

from jobs.work import CONCURRENCY, INSIDE, LEASE, Progress, job_ids, make


def main(url: str, name: str, folder: str, who: str, own: str, following: str, count: str) -> None:
    """Works until the input ends."""
    progress = Progress()

    def do(delivery: libdlock.Delivery) -> None:
        time.sleep(INSIDE)
        progress.add(make(folder, delivery.id, who), delivery.attempt)

    with libdlock.connect(url) as client:
        others = client.queue(f"{name}-{following}")
        mine = client.queue(f"{name}-{own}", watchdog_lease=LEASE)
        print("ready", flush=True)
        sys.stdin.readline()
        with mine.consume(do, concurrency=CONCURRENCY), progress.reporting():
            others.put_many([libdlock.NewJob(job, id=job) for job in job_ids(who, int(count))])
            sys.stdin.read()


if __name__ == "__main__":
    main(*sys.argv[1:])
