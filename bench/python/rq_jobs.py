"""The peer of the Python worker for jobs: rq. rq_jobs.py Worker|SimpleWorker jobs URL CALLERS SECONDS

`Worker` forks a work-horse for each job, as rq does by default; `SimpleWorker` runs them in its own process. For each caller a
job is enqueued, and the next one when it is finished; a job that is done is not kept. There is one worker in this process:
more of them are more processes.
"""

from __future__ import annotations

import logging
import os
import sys
import threading
import time
from typing import Any

import redis
import rq  # type: ignore[import-not-found]
from protocol import answer, ready

PAYLOAD = "x" * 100
#: Of these seconds nothing counts.
WARM_UP = 0.5


def job(payload: str) -> None:
    """Does nothing."""


class Callers:
    """Threads that keep so many jobs in the queue or in the worker."""

    def __init__(self, url: str, count: int) -> None:
        self.queue = rq.Queue("bench", connection=redis.Redis.from_url(url))
        self.free = threading.Semaphore(count)
        self.finished = 0

    def enqueue(self) -> None:
        """One after the other, each when there is a caller for it."""
        while True:
            self.free.acquire()
            self.queue.enqueue("rq_jobs.job", PAYLOAD, result_ttl=0)

    def done(self) -> None:
        """A job is finished."""
        self.finished += 1
        self.free.release()


def worker_of(kind: str, url: str, callers: Callers) -> Any:
    """One that tells when a job is finished."""

    class Told(getattr(rq, kind)):  # type: ignore[misc]
        def handle_job_success(self, *arguments: Any, **named: Any) -> None:
            super().handle_job_success(*arguments, **named)
            callers.done()

        def monitor_work_horse(self, *arguments: Any, **named: Any) -> None:
            super().monitor_work_horse(*arguments, **named)
            callers.done()

    return Told([callers.queue], connection=redis.Redis.from_url(url))


def main(kind: str, what: str, url: str, count: str, length: str) -> None:
    """Speaks the worker protocol. The worker has the main thread, which its signal handlers need."""
    logging.disable(logging.CRITICAL)
    if what != "jobs":
        raise ValueError(f"there is no {what!r}")
    callers = Callers(url, int(count))
    worker = worker_of(kind, url, callers)

    def measure() -> None:
        time.sleep(WARM_UP)
        ready()
        begun, before = time.monotonic(), callers.finished
        time.sleep(float(length))
        answer({"done": callers.finished - before, "seconds": time.monotonic() - begun})
        os._exit(0)  # the worker would wait for its next job

    for run in (callers.enqueue, measure):
        threading.Thread(target=run, daemon=True).start()
    worker.work(logging_level="CRITICAL")


if __name__ == "__main__":
    main(*sys.argv[1:])
