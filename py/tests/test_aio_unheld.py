"""Latches and counting semaphores for tasks: nobody holds them, and a cancelled task leaves nothing behind."""

from __future__ import annotations

import asyncio
import time

import pytest

import libdlock
from libdlock import aio


async def waiting(client: aio.Client, block: str, number: int) -> None:
    """Until so many callers wait."""
    end = time.monotonic() + 10
    while getattr(client.stats(), block).waiting != number:
        assert time.monotonic() < end
        await asyncio.sleep(0.001)


async def test_a_latch_opens_for_every_task(aio_client: aio.Client, aio_other: aio.Client, name: str) -> None:
    ready, theirs = aio_client.latch(name), aio_other.latch(name)
    assert repr(ready) == f"<libdlock.aio.Latch {name!r}>"
    assert await ready.try_set_count(2)
    assert not await theirs.try_set_count(1)
    assert not await ready.wait(0)
    assert not await ready.wait(timeout=0.02)
    waits = [asyncio.create_task(ready.wait(20)) for _ in range(100)]
    await waiting(aio_client, "latch", 100)
    assert (await theirs.count_down(), await ready.count()) == (1, 1)
    assert await theirs.count_down(5) == 0
    assert await asyncio.gather(*waits) == [True] * 100
    assert not await ready.delete()


async def test_a_cancelled_wait_changes_no_latch(aio_client: aio.Client, name: str) -> None:
    ready = aio_client.latch(name)
    assert await ready.try_set_count(1)
    waits = asyncio.create_task(ready.wait())
    await waiting(aio_client, "latch", 1)
    waits.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waits
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(ready.wait(), 0.02)
    await waiting(aio_client, "latch", 0)
    assert await ready.count() == 1
    assert await ready.delete()


async def test_closing_the_client_ends_the_waits(url: str, name: str) -> None:
    async with aio.connect(url) as client, aio.connect(url) as other:
        assert await client.latch(name).try_set_count(1)
        assert await client.counting_semaphore(f"{name}-slots").try_set_permits(0)
        waits = [
            asyncio.create_task(client.latch(name).wait()),
            asyncio.create_task(client.counting_semaphore(f"{name}-slots").acquire()),
        ]
        await waiting(client, "latch", 1)
        await waiting(client, "counting_semaphore", 1)
        await client.close()
        ends = await asyncio.gather(*waits, return_exceptions=True)
        assert [type(end) for end in ends] == [libdlock.Closed, libdlock.Closed]
        assert await other.latch(name).delete()


async def test_any_task_brings_permits_back(aio_client: aio.Client, aio_other: aio.Client, name: str) -> None:
    slots, theirs = aio_client.counting_semaphore(name), aio_other.counting_semaphore(name)
    assert repr(slots) == f"<libdlock.aio.CountingSemaphore {name!r}>"
    assert await slots.try_set_permits(2)
    assert await slots.acquire(2)
    assert not await theirs.try_acquire()
    assert not await theirs.acquire(1, 0.02)
    waits = asyncio.create_task(slots.acquire(timeout=20))
    await waiting(aio_client, "counting_semaphore", 1)
    await theirs.release()
    assert await waits
    await theirs.add_permits(3)
    assert (await slots.inspect()).available == 3
    assert await slots.drain() == 3


async def test_a_cancelled_acquire_loses_no_permit(url: str, name: str) -> None:
    """Also when the grant and the cancellation meet: at each number of the loop's turns after the call."""
    async with aio.connect(url) as other:
        assert await other.counting_semaphore(name).try_set_permits(1)
        taken = 0
        for turns in range(60):
            async with aio.connect(url) as client:
                acquiring = asyncio.create_task(client.counting_semaphore(name).acquire())
                for _ in range(turns % 20):
                    await asyncio.sleep(0)
                if turns >= 20:
                    await asyncio.sleep((turns - 20) * 25e-6)
                acquiring.cancel()
                try:
                    taken += await acquiring
                    await client.counting_semaphore(name).release()
                except asyncio.CancelledError:
                    pass
                # Waits until the grant is given back; a close without `release` waits 50 ms at most.
                await client.close(release=True)
            assert await other.counting_semaphore(name).acquire(timeout=10), f"lost after {turns} turns"
            await other.counting_semaphore(name).release()
        assert (await other.counting_semaphore(name).inspect()).available == 1


async def test_async_with_is_refused_and_says_what_to_use(aio_client: aio.Client, name: str) -> None:
    with pytest.raises(TypeError, match=r"use acquire\(\) and release\(\)"):
        async with aio_client.counting_semaphore(name):  # type: ignore[attr-defined]
            raise AssertionError("it cannot be entered")
    with pytest.raises(TypeError, match=r"use acquire\(blocking=False\)"):
        await aio_client.counting_semaphore(name).acquire(False)
