"""Leases, renewals, rates and waits without a server and without waiting."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator

import pytest

import libdlock
from libdlock.aio._client import Connecting
from libdlock.testing import ManualClock

pytest_plugins = ["libdlock.integrations.pytest"]


@pytest.fixture(autouse=True)
def no_time_passes() -> Iterator[None]:
    """What waits here waits for 20 s or more on the clock; a machine that does much else has needed 8 s for all of it."""
    start = time.monotonic()
    yield
    assert time.monotonic() - start < 20


def test_a_fixed_lease_ends(dlock_client: libdlock.Client, dlock_clock: ManualClock) -> None:
    held = dlock_client.lock("stock", lease=5).take()
    dlock_clock.advance(4)
    assert held.valid and dlock_client.lock("stock").locked()
    dlock_clock.advance(2)
    assert not held.valid
    assert held.lost.reason == "expired"
    assert not dlock_client.lock("stock").locked()
    with pytest.raises(libdlock.NotHeld):
        held.release()


def test_the_watchdog_renews_as_time_passes(dlock_client: libdlock.Client, dlock_clock: ManualClock) -> None:
    with dlock_client.lock("stock").take() as held:
        for _ in range(10):
            dlock_clock.advance(60)
            assert held.valid
        assert dlock_clock.now == 600
        # Each third of 30 s; a renewal is due at the first step after that.
        assert 50 <= dlock_client.stats().lock.renewals <= 60


def test_a_process_that_was_suspended_has_lost_its_lock(
    dlock_client: libdlock.Client, dlock_clock: ManualClock
) -> None:
    held = dlock_client.lock("stock").take()
    dlock_clock.jump(31)
    assert not held.valid
    with pytest.raises(libdlock.NotHeld):
        held.release()


def test_a_limiter_refills(dlock_client: libdlock.Client, dlock_clock: ManualClock) -> None:
    limiter = dlock_client.rate_limiter("mail", rate=2, per=60)
    assert limiter.try_acquire() and limiter.try_acquire()
    refused = limiter.try_acquire()
    assert not refused
    assert refused.retry_after == pytest.approx(30)
    dlock_clock.advance(29)
    assert not limiter.try_acquire()
    dlock_clock.advance(1)
    assert limiter.try_acquire()


def test_a_wait_times_out(dlock_client: libdlock.Client, dlock_clock: ManualClock) -> None:
    lock = dlock_client.lock("stock")
    with lock.take():
        assert dlock_clock.run(lambda: lock.acquire(timeout=50)) is False
        assert dlock_clock.now == pytest.approx(50, abs=5)
        with pytest.raises(libdlock.AcquireTimeout):
            dlock_clock.run(lambda: lock.take(wait=5))


def test_a_wait_for_a_clock_that_nobody_moves_ends(dlock_client: libdlock.Client) -> None:
    refused = pytest.raises(libdlock.ClockError, match=r"ManualClock that has not moved for 10s.*`run`")
    with dlock_client.lock("stock").take(), refused:
        dlock_client.lock("stock").acquire(timeout=0.2)


def test_a_waiter_gets_what_a_lease_that_ends_frees(
    dlock_client: libdlock.Client, dlock_clock: ManualClock
) -> None:
    lapsed = dlock_client.lock("stock", lease=20).take()
    held = dlock_clock.run(lambda: dlock_client.lock("stock").take())
    assert dlock_clock.now == pytest.approx(20, abs=5)
    assert lapsed.lost.is_set()
    held.release()


def test_a_limiter_is_waited_for(dlock_client: libdlock.Client, dlock_clock: ManualClock) -> None:
    limiter = dlock_client.rate_limiter("mail", rate=1, per=60)
    assert limiter.acquire()
    assert dlock_clock.run(limiter.acquire)
    assert dlock_clock.now == pytest.approx(60, abs=5)


def test_a_delayed_job_is_due_in_its_time(dlock_client: libdlock.Client, dlock_clock: ManualClock) -> None:
    jobs = dlock_client.queue("jobs")
    jobs.put("later", delay=3600)
    assert jobs.take(0) is None
    dlock_clock.advance(3590, step=600)
    assert jobs.take(0) is None
    dlock_clock.run(jobs.take).ack()
    assert dlock_clock.now == pytest.approx(3600, abs=5)


def test_a_call_that_raises_is_heard(dlock_clock: ManualClock) -> None:
    with pytest.raises(ZeroDivisionError):
        dlock_clock.run(lambda: 1 // 0)


async def test_tasks_have_the_same_clock(dlock_aio_connect: Connecting, dlock_clock: ManualClock) -> None:
    async with dlock_aio_connect as client:
        held = await client.lock("stock", lease=5).take()
        loss = asyncio.create_task(held.lost.wait())
        dlock_clock.advance(6)
        assert await loss
        assert not held.valid

        lock = client.lock("till")
        async with lock:
            for _ in range(10):
                dlock_clock.advance(10)
            assert lock.held is not None and lock.held.valid
            start = dlock_clock.now
            assert await dlock_clock.run_async(lock.acquire(timeout=50)) is False
            assert dlock_clock.now - start == pytest.approx(50, abs=5)

        limiter = client.rate_limiter("mail", rate=1, per=60)
        assert await limiter.acquire()
        assert not await limiter.try_acquire()
        assert await dlock_clock.run_async(limiter.acquire())


def test_no_other_store_can_have_a_clock(dlock_clock: ManualClock) -> None:
    for url in ["memory://shared", "redis://127.0.0.1:1/0"]:
        with pytest.raises(libdlock.Unsupported, match="only with a private memory:// client"):
            dlock_clock.connect(url)


def test_times_are_checked(dlock_clock: ManualClock) -> None:
    for seconds in (-1, float("nan")):
        with pytest.raises(libdlock.InvalidArgument):
            dlock_clock.jump(seconds)
    assert dlock_clock.now == 0
    assert repr(dlock_clock) == "<libdlock.testing.ManualClock now=0.0>"


@pytest.mark.parametrize("dlock_options", [{"lease": 90, "key_prefix": "test:"}])
def test_options_can_be_given(dlock_client: libdlock.Client, dlock_clock: ManualClock) -> None:
    with dlock_client.lock("stock").take() as held:
        dlock_clock.jump(60)
        assert held.valid
    with pytest.raises(libdlock.NotHeld) as raised:
        held.release()
    assert raised.value.name == "test:stock"


def test_time_does_not_go_back() -> None:
    clock = ManualClock()
    for move in (clock.advance, clock.jump):
        with pytest.raises(libdlock.InvalidArgument, match="allowed: 0 or more"):
            move(-1)
    clock.advance(0)
    assert clock.now == 0
