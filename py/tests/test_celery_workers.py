"""Workers of Celery that end, are killed, are several or of another kind: each test starts its own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator

import pytest

import celery_app
from celery_kit import Workers, until
from conftest import ROOT
from redis_server import RedisServer


@pytest.fixture
def workers(broker: str, server: RedisServer) -> Iterator[Workers]:
    workers = Workers(broker, server.url)
    yield workers
    workers.close()


def test_another_worker_goes_on_when_one_was_killed(workers: Workers, name: str) -> None:
    killed = workers.start()
    celery_app.retries.delay(name)
    workers.noted(name, "begin")
    workers.start()
    workers.kill(killed)
    died = time.time()
    again = celery_app.retries.delay(name)
    workers.end(name)
    assert again.get(20) == "done"
    # The lease of the dead worker, at the latest renewed as it was killed; then the next try of the other, which is due
    # each 0.2 s; the rest is the machine's.
    began = float(workers.noted(name, "begin", 2)[-1])
    assert began - died < celery_app.LEASE + 3
    assert [line[0] for line in workers.notes(name)] == ["begin", "begin", "end"]


def test_a_message_of_a_killed_process_is_not_skipped(workers: Workers, name: str) -> None:
    workers.start()
    result = celery_app.late.delay(name)
    process = int(workers.noted(name, "begin")[-2])
    os.kill(process, signal.SIGKILL)
    # It is delivered again at once, while the lock of the dead process lasts.
    workers.noted(name, "begin", 2)
    workers.end(name)
    assert result.get(20) == "done"
    assert [line[0] for line in workers.notes(name)] == ["begin", "begin", "end"]
    first, second = (int(line[1]) for line in workers.notes(name)[:2])
    assert first < second


def test_a_message_of_a_killed_worker_is_not_lost(workers: Workers, name: str) -> None:
    killed = workers.start()
    result = celery_app.late.delay(name)
    workers.noted(name, "begin")
    workers.kill(killed)
    workers.start(visibility=1)
    workers.noted(name, "begin", 2)
    workers.end(name)
    assert result.get(20) == "done"


def test_a_message_that_is_delivered_twice_runs_in_turn(workers: Workers, name: str) -> None:
    workers.start(visibility=1)
    result = celery_app.late.delay(name)
    workers.noted(name, "begin")
    # The broker delivers it again, although its worker is alive and at it.
    until(lambda: workers.logs().count("retry: acquire") >= 2, workers.logs)
    assert [line[0] for line in workers.notes(name)] == ["begin"]
    workers.end(name)
    assert result.get(20) == "done"


def test_each_process_has_its_own_client(workers: Workers, name: str, server: RedisServer) -> None:
    worker = workers.start(processes=2)
    names = [f"{name}-{number}" for number in range(2)]
    results = [celery_app.skips.delay(each) for each in names]
    processes = {workers.noted(each, "begin")[-2] for each in names}
    assert len(processes) == 2
    assert str(worker.pid) not in processes
    for each in names:
        workers.end(each)
    assert [result.get(20) for result in results] == ["done"] * 2
    workers.stop(worker)
    assert "Forked" not in workers.logs()
    assert "ResourceWarning" not in workers.logs()


@pytest.mark.parametrize("pool", ["threads", "solo", "gevent"])
def test_other_pools(workers: Workers, name: str, pool: str) -> None:
    worker = workers.start(pool)
    workers.end(name)
    assert celery_app.waits.delay(name).get(20) == "done"
    workers.stop(worker)


def test_no_more_runs_than_the_limit_allows(workers: Workers, name: str) -> None:
    workers.start()
    workers.start()
    results = [celery_app.limited.delay(name) for _ in range(20)]
    for result in results:
        result.get(40)
    ran = sorted(float(line[-1]) for line in workers.notes(name))
    assert len(ran) == 20
    # The limiter counts when its server decided. The function notes its own time later, by no more than a pause of this
    # machine: such a run may be within a second of the sixth after it.
    assert all(later - first > 0.7 for first, later in zip(ran, ran[5:], strict=False))
    assert ran[-1] - ran[0] > 2.7


def test_tasks_come_again_while_the_lock_server_is_away(
    broker: str, name: str, own_server: RedisServer
) -> None:
    workers = Workers(broker, own_server.url)
    try:
        own_server.kill()
        workers.start()
        result = celery_app.retries.delay(name)
        workers.end(name)
        until(lambda: "retry: " in workers.logs(), workers.logs)
        own_server.start()
        assert result.get(20) == "done"
        assert len(workers.notes(name)) == 2
    finally:
        workers.close()


def test_the_example_runs_as_it_says(workers: Workers, broker: str, server: RedisServer) -> None:
    folder = ROOT / "examples" / "frameworks" / "celery"
    environment = {**os.environ, "BROKER_URL": broker, "REDIS_URL": server.url}
    workers.start_of("celery_shop", folder, environment)
    command = [sys.executable, "celery_shop.py"]
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=90, check=False
    )
    assert done.returncode == 0, done.stderr + workers.logs()
    assert done.stdout == "['None', 'report of 2026-11-27']\n10 mails\n"
