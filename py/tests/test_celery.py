"""Celery tasks of which one runs at a time: a real worker of two processes on a real broker, for all of these tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from celery.exceptions import SoftTimeLimitExceeded
from celery.exceptions import TimeoutError as NoResult
from celery.result import AsyncResult

import celery_app
import libdlock
from celery_kit import Workers, until
from redis_server import RedisServer


@pytest.fixture(scope="module")
def workers(broker: str, server: RedisServer) -> Iterator[Workers]:
    workers = Workers(broker, server.url)
    workers.start()
    yield workers
    workers.close()


def test_a_duplicate_is_skipped_while_the_task_runs(workers: Workers, name: str) -> None:
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
    results = [celery_app.waits.delay(name) for _ in range(2)]
    workers.noted(name, "begin")
    workers.end(name)
    assert [result.get(20) for result in results] == ["done"] * 2
    assert [line[0] for line in workers.notes(name)] == ["begin", "end"] * 2


def test_a_duplicate_may_fail(workers: Workers, name: str) -> None:
    first = celery_app.fails.delay(name)
    workers.noted(name, "begin")
    with pytest.raises(libdlock.AcquireTimeout):
        celery_app.fails.delay(name).get(20)
    workers.end(name)
    assert first.get(20) == "done"


def test_a_duplicate_comes_again_until_it_can_run(workers: Workers, name: str) -> None:
    results = [celery_app.retries.delay(name) for _ in range(3)]
    workers.noted(name, "begin")
    until(lambda: workers.logs().count("retry: acquire") >= 3, workers.logs)
    assert len(workers.notes(name)) == 1
    workers.end(name)
    # Beyond the max_retries of the task, which is 0: these are for a function that has failed.
    assert [result.get(20) for result in results] == ["done"] * 3
    assert [line[0] for line in workers.notes(name)] == ["begin", "end"] * 3


def test_a_run_is_told_that_it_lost_its_lock(workers: Workers, name: str, server: RedisServer) -> None:
    result = celery_app.skips.delay(name)
    workers.noted(name, "begin")
    with libdlock.connect(server.url) as operator:
        assert celery_app.skips.once is not None
        lock = celery_app.skips.once.lock_name(celery_app.skips, (name,), {})
        assert operator.lock(lock).force_release()
    workers.noted(name, "lost")
    with pytest.raises(libdlock.HoldEnded):
        result.get(20)


def test_a_run_over_its_time_limit_frees_its_lock(workers: Workers, name: str) -> None:
    over = celery_app.timed.delay(name)
    workers.noted(name, "begin")
    with pytest.raises(SoftTimeLimitExceeded):
        over.get(20)
    workers.end(name)
    assert celery_app.timed.delay(name).get(20) == "done"


def test_a_limit_for_each_key(workers: Workers, name: str) -> None:
    for who in ["ann", "bob", "ann", "x" * 10_000]:
        celery_app.by_key.delay(name, who)
    until(lambda: len(workers.notes(name)) == 3, workers.logs)
    assert sorted(line[0][:3] for line in workers.notes(name)) == ["ann", "bob", "xxx"]


def test_a_cost_that_is_never_there_fails(workers: Workers) -> None:
    with pytest.raises(libdlock.InvalidArgument, match="costs 2, of which at most 1"):
        celery_app.too_dear.delay().get(20)
