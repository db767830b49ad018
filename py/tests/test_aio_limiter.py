"""Rate limiters for tasks. What they answer is checked for threads; here is that tasks get it, and what cancelling does."""

from __future__ import annotations

import asyncio
import time

import pytest

import libdlock
from libdlock import aio
from proxy import Proxy
from redis_server import RedisServer


async def test_those_who_wait_are_served_in_the_order_in_which_they_came(
    aio_client: aio.Client, name: str
) -> None:
    limiter = aio_client.rate_limiter(name, rate=10, per=1, burst=1)
    assert await limiter.acquire()
    order: list[int] = []

    async def wait(number: int) -> None:
        assert await limiter.acquire(wait=10)
        order.append(number)

    began = time.monotonic()
    waiting = []
    for number in range(6):
        waiting.append(asyncio.create_task(wait(number)))
        await asyncio.sleep(0)
    await asyncio.gather(*waiting)
    # Grants are 100 ms apart: a loop that is late by more hears of two at once, in any order.
    assert order == list(range(6))
    assert time.monotonic() - began < 3


async def test_a_task_that_is_cancelled_while_it_waits_spends_nothing(
    aio_client: aio.Client, aio_other: aio.Client, name: str
) -> None:
    limiter = aio_client.rate_limiter(name, rate=1, per=3600, burst=2)
    assert await limiter.acquire(2)
    waiting = [asyncio.create_task(limiter.acquire()) for _ in range(5)]
    done, _ = await asyncio.wait(waiting, timeout=0.1)
    assert not done
    for task in waiting:
        task.cancel()
    await asyncio.wait(waiting)
    theirs = aio_other.rate_limiter(name, rate=1, per=3600, burst=2)
    await theirs.reset()
    assert (await theirs.peek()).remaining == 2


async def test_a_decision_whose_reply_was_lost_counts_as_spent(
    proxy: Proxy, server: RedisServer, name: str
) -> None:
    async with aio.connect(proxy.url) as client, aio.connect(server.url) as other:
        limiter = client.rate_limiter(name, rate=5, per=3600)
        assert await limiter.try_acquire()
        proxy.reset_at_reply_to(name)
        with pytest.raises(libdlock.OutcomeUnknown):
            await limiter.try_acquire(2)
        assert (await other.rate_limiter(name, rate=5, per=3600).peek()).remaining == 2


async def test_threads_and_tasks_share_one_bucket(
    client: libdlock.Client, aio_client: aio.Client, name: str
) -> None:
    ours = client.rate_limiter(name, rate=4, per=3600)
    theirs = aio_client.rate_limiter(name, rate=4, per=3600)
    assert ours.try_acquire(3)
    assert await theirs.try_acquire(1)
    assert not ours.try_acquire()
    assert not await theirs.try_acquire()


async def test_a_limiter_ends_with_its_client(url: str, name: str) -> None:
    client = await aio.connect(url)
    limiter = client.rate_limiter(name, rate=1, per=3600)
    assert await limiter.acquire()
    waiting = asyncio.create_task(limiter.acquire())
    await asyncio.sleep(0)
    await client.close()
    with pytest.raises(libdlock.Closed):
        await waiting
    for call in (limiter.try_acquire, limiter.acquire, limiter.peek, limiter.reset):
        with pytest.raises(libdlock.Closed):
            await call()


async def test_keys_and_batches(aio_client: aio.Client, name: str) -> None:
    limiter = aio_client.rate_limiter(name, rate=2, per=3600)
    assert await limiter.try_acquire(2, key="a")
    assert not await limiter.acquire(1, wait=0.01, key="a")
    assert (await limiter.peek(key="b")).remaining == 2
    await limiter.reset(key="a")
    answers = await limiter.try_acquire_many([("a", 1), ("", 1), ("a", 2), ("b", 2)])
    assert [bool(answer) for answer in answers] == [True, False, False, True]
    assert isinstance(answers[1], libdlock.Undecided)
    assert isinstance(answers[1].error, libdlock.InvalidName)
