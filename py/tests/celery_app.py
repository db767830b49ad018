"""A Celery application for the tests: its workers are processes of their own, started with the URLs in the environment."""

from __future__ import annotations

import os
import time

import celery
import redis

import libdlock
from libdlock.integrations.celery import DlockTask, Limit, Once

BROKER = os.environ.get("TEST_BROKER", "memory://")
#: Longer than a busy machine lets a worker wait for its turn.
LEASE = 4

app = celery.Celery("shop", broker=BROKER, backend=os.environ.get("TEST_BACKEND", "cache+memory://"))
app.conf.update(
    dlock_url=os.environ.get("TEST_LOCKS", "memory://"),
    dlock_options={"lease": LEASE, "operation_timeout": 1},
    broker_transport_options={
        "visibility_timeout": int(os.environ.get("TEST_VISIBILITY", "3600")),
        "unacked_restore_interval": 1,
        "unacked_restore_throttle": 1,
    },
    worker_prefetch_multiplier=1,
    worker_hijack_root_logger=False,
    broker_connection_retry_on_startup=True,
)


def note(name: str, *parts: object) -> None:
    """Writes down what a task did, where the tests read it."""
    with redis.Redis.from_url(BROKER) as notes:
        notes.rpush(name, " ".join(str(part) for part in (*parts, os.getpid(), time.time())))


def go_on(name: str) -> bool:
    """Whether the test lets the task `name` end."""
    with redis.Redis.from_url(BROKER) as notes:
        return bool(notes.exists(f"{name}:end"))


def work(task: DlockTask, name: str) -> str:
    """Runs until the test, or the loss of the lock, ends it."""
    note(name, "begin", task.hold.token if task.hold else 0)
    until = time.monotonic() + 30
    while not go_on(name) and time.monotonic() < until:
        if task.lost:
            note(name, "lost")
            return "stopped"
        time.sleep(0.02)
    note(name, "end")
    return "done"


@app.task(base=DlockTask, bind=True, once=Once(key=["name"]))
def skips(self: DlockTask, name: str, extra: int = 0) -> str:
    return work(self, name)


@app.task(base=DlockTask, bind=True, once=Once(key=["name"], duplicate="ignore"))
def ignores(self: DlockTask, name: str) -> str:
    return work(self, name)


@app.task(base=DlockTask, bind=True, once=Once(key=["name"], wait=20, duplicate="fail"))
def waits(self: DlockTask, name: str) -> str:
    return work(self, name)


@app.task(base=DlockTask, bind=True, once=Once(key=["name"], duplicate="fail"))
def fails(self: DlockTask, name: str) -> str:
    return work(self, name)


@app.task(
    base=DlockTask, bind=True, max_retries=0, once=Once(key=["name"], duplicate="retry", retry_after=0.2)
)
def retries(self: DlockTask, name: str) -> str:
    return work(self, name)


@app.task(
    base=DlockTask,
    bind=True,
    acks_late=True,
    reject_on_worker_lost=True,
    once=Once(key=["name"], retry_after=0.3),
)
def late(self: DlockTask, name: str) -> str:
    return work(self, name)


@app.task(base=DlockTask, bind=True, soft_time_limit=1, once=Once(key=["name"], duplicate="fail"))
def timed(self: DlockTask, name: str) -> str:
    return work(self, name)


@app.task(base=DlockTask, max_retries=0, limit=Limit(libdlock.Rate(5, per=1, algorithm="sliding_log")))
def limited(name: str) -> None:
    note(name, "ran")


@app.task(base=DlockTask, limit=Limit(libdlock.Rate(1, per=60), key=["who"]))
def by_key(name: str, who: str) -> None:
    note(name, who)


@app.task(base=DlockTask, limit=Limit(libdlock.Rate(1, per=60), cost=2))
def too_dear() -> None:
    raise AssertionError("it costs more than there ever is")
