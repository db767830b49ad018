"""Celery tasks of which one runs at a time: real workers on a real broker."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator

import pytest
from celery.exceptions import TimeoutError as NoResult
from celery.result import AsyncResult

import celery_app
import libdlock
from celery_kit import PASSWORD, Workers, until
from redis_server import RedisServer


@pytest.fixture(scope="module")
def broker() -> Iterator[str]:
    server = RedisServer("--requirepass", PASSWORD).start()
    url = f"redis://:{PASSWORD}@127.0.0.1:{server.port}/0"
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(celery_app.app.conf, "broker_url", url)
        patch.setitem(celery_app.app.conf, "result_backend", url)
        yield url
    celery_app.app.close()
    server.stop()


@pytest.fixture
def workers(broker: str, server: RedisServer) -> Iterator[Workers]:
    workers = Workers(broker, server.url)
    yield workers
    workers.close()


def test_a_duplicate_is_skipped_while_the_task_runs(workers: Workers, name: str) -> None:
    workers.start()
    first = celery_app.skips.delay(name)
    _, token, *_ = workers.noted(name, "begin")
    assert int(token) > 0
    assert celery_app.skips.delay(name, extra=1).get(20) is None
    other = f"{name}-other"
    second = celery_app.skips.delay(other)
    workers.noted(other, "begin")
    workers.end(name)
    workers.end(other)
    assert first.get(20) == second.get(20) == "done"
    assert celery_app.skips.delay(name).get(20) == "done"
    assert [line[0] for line in workers.notes(name)] == ["begin", "end"] * 2


def test_what_follows_an_ignored_duplicate_does_not_run(workers: Workers, name: str) -> None:
    workers.start()
    first = celery_app.ignores.delay(name)
    workers.noted(name, "begin")
    after = f"{name}-after"
    chain = (celery_app.ignores.si(name) | celery_app.by_key.si(after, "x")).delay()
    assert isinstance(chain.parent, AsyncResult)
    with pytest.raises(NoResult):
        chain.parent.get(1)
    assert not workers.notes(after)
    workers.end(name)
    assert first.get(20) == "done"


def test_a_task_may_wait_for_the_other(workers: Workers, name: str) -> None:
    workers.start()
    results = [celery_app.waits.delay(name) for _ in range(2)]
    workers.noted(name, "begin")
    workers.end(name)
    assert [result.get(20) for result in results] == ["done"] * 2
    assert [line[0] for line in workers.notes(name)] == ["begin", "end"] * 2


def test_a_duplicate_may_fail(workers: Workers, name: str) -> None:
    workers.start()
    first = celery_app.fails.delay(name)
    workers.noted(name, "begin")
    with pytest.raises(libdlock.AcquireTimeout):
        celery_app.fails.delay(name).get(20)
    workers.end(name)
    assert first.get(20) == "done"


def test_a_duplicate_comes_again_until_it_can_run(workers: Workers, name: str) -> None:
    workers.start()
    results = [celery_app.retries.delay(name) for _ in range(3)]
    workers.noted(name, "begin")
    until(lambda: workers.logs().count("retry: acquire") >= 3, workers.logs)
    assert len(workers.notes(name)) == 1
    workers.end(name)
    # Beyond the max_retries of the task, which is 0: these are for a function that has failed.
    assert [result.get(20) for result in results] == ["done"] * 3
    assert [line[0] for line in workers.notes(name)] == ["begin", "end"] * 3


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


def test_a_run_is_told_that_it_lost_its_lock(workers: Workers, name: str, server: RedisServer) -> None:
    workers.start()
    result = celery_app.skips.delay(name)
    workers.noted(name, "begin")
    with libdlock.connect(server.url) as operator:
        assert celery_app.skips.once is not None
        lock = celery_app.skips.once.lock_name(celery_app.skips, (name,), {})
        assert operator.lock(lock).force_release()
    workers.noted(name, "lost")
    with pytest.raises(libdlock.HoldEnded):
        result.get(20)


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


def test_a_limit_for_each_key(workers: Workers, name: str) -> None:
    workers.start()
    for who in ["ann", "bob", "ann", "x" * 10_000]:
        celery_app.by_key.delay(name, who)
    until(lambda: len(workers.notes(name)) == 3, workers.logs)
    assert sorted(line[0][:3] for line in workers.notes(name)) == ["ann", "bob", "xxx"]


def test_a_cost_that_is_never_there_fails(workers: Workers) -> None:
    workers.start()
    with pytest.raises(libdlock.InvalidArgument, match="costs 2, of which at most 1"):
        celery_app.too_dear.delay().get(20)


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
