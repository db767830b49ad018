"""The semaphore for tasks: `asyncio.Semaphore`'s verbs, with permits that are leased."""

from __future__ import annotations

import asyncio

import pytest

import libdlock
from libdlock import aio


async def test_with_gives_a_task_its_permit(aio_client: aio.Client, name: str) -> None:
    semaphore = aio_client.semaphore(name, 2, lease=20)
    async with semaphore as held:
        assert (held.token, len(held.permits)) == (0, 1)
        assert 15 < held.remaining <= 20
        assert await semaphore.inspect() == libdlock.SemaphoreInspection(permits=2, available=1, queued=0)
        await held.extend(60)
        assert held.remaining > 40
    assert not held.valid
    assert semaphore.held is None


async def test_no_more_tasks_than_permits_are_inside(aio_client: aio.Client, name: str) -> None:
    semaphore = aio_client.semaphore(name, 3)
    inside, most = 0, 0

    async def work() -> None:
        nonlocal inside, most
        async with semaphore:
            inside += 1
            most = max(most, inside)
            await asyncio.sleep(0)
            inside -= 1

    await asyncio.gather(*(work() for _ in range(30)))
    assert (inside, 1 <= most <= 3) == (0, True)
    assert (await semaphore.inspect()).available == 3


async def test_a_task_releases_its_latest_hold(aio_client: aio.Client, name: str) -> None:
    semaphore = aio_client.semaphore(name, 4)
    assert await semaphore.acquire()
    assert await semaphore.acquire(permits=3)
    assert not await semaphore.acquire(blocking=False)
    assert not await semaphore.acquire(timeout=0.05)
    assert semaphore.hold_count == 2
    await semaphore.release()
    assert (await semaphore.inspect()).available == 3

    async def other_task() -> None:
        with pytest.raises(libdlock.NotHeld):
            await semaphore.release()

    await asyncio.create_task(other_task())
    await semaphore.release()


async def test_a_release_of_n_ends_holds_of_so_many_permits(aio_client: aio.Client, name: str) -> None:
    semaphore = aio_client.semaphore(name, 6)
    for permits in (3, 1, 2):
        assert await semaphore.acquire(permits=permits)
    with pytest.raises(libdlock.InvalidArgument, match="allowed: 2 or 3 or 6"):
        await semaphore.release(4)
    await semaphore.release(3)
    await semaphore.release(3)
    assert (semaphore.hold_count, (await semaphore.inspect()).available) == (0, 6)


async def test_a_scope_whose_hold_was_released_ends_no_older(aio_client: aio.Client, name: str) -> None:
    semaphore = aio_client.semaphore(name, 3)
    assert await semaphore.acquire(permits=2)
    older = semaphore.held
    assert older is not None
    with pytest.raises(libdlock.NotHeld):
        async with semaphore:
            await semaphore.release()
    assert older.valid
    await semaphore.release()
    assert (await semaphore.inspect()).available == 3


async def test_a_cancelled_wait_leaves_no_permit_taken(aio_client: aio.Client, name: str) -> None:
    semaphore = aio_client.semaphore(name, 1)
    held = await semaphore.take()
    waiting = asyncio.create_task(semaphore.acquire())
    while aio_client.stats().semaphore.waiting == 0:
        await asyncio.sleep(0.001)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    await held.release()
    assert await semaphore.acquire(timeout=5)
    assert (await semaphore.inspect()).queued == 0
    await semaphore.release()


async def test_a_hold_may_be_released_by_another_task(aio_client: aio.Client, name: str) -> None:
    semaphore = aio_client.semaphore(name, 2)
    held = await semaphore.take(2)
    with pytest.raises(libdlock.AcquireTimeout):
        await semaphore.take(wait=0)
    await asyncio.create_task(held.release())
    async with await semaphore.take(2, wait=5) as again:
        assert len(again.permits) == 2


async def test_a_task_that_ends_while_it_holds_is_told(aio_client: aio.Client, name: str) -> None:
    semaphore = aio_client.semaphore(name, 1)

    async def forgets() -> None:
        await semaphore.acquire()

    with pytest.warns(ResourceWarning, match="ended while it held <libdlock.aio.Semaphore"):
        await asyncio.create_task(forgets())
        await asyncio.sleep(0)


async def test_raising_the_number_wakes_who_waits(aio_client: aio.Client, name: str) -> None:
    semaphore = aio_client.semaphore(name, 1)
    held = await semaphore.take()
    waiting = asyncio.create_task(semaphore.take())
    while aio_client.stats().semaphore.waiting == 0:
        await asyncio.sleep(0.001)
    await semaphore.set_permits(2)
    await (await asyncio.wait_for(waiting, 10)).release()
    await held.release()


async def test_closing_ends_the_waits_of_tasks(aio_client: aio.Client, name: str) -> None:
    semaphore = aio_client.semaphore(name, 1)
    await semaphore.acquire()
    waiting = asyncio.create_task(semaphore.acquire())
    while aio_client.stats().semaphore.waiting == 0:
        await asyncio.sleep(0.001)
    await aio_client.close(release=True)
    with pytest.raises(libdlock.Closed):
        await waiting
