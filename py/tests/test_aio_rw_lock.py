"""The read-write lock for tasks: each side with the verbs of `libdlock.RwLockSide` as coroutines."""

from __future__ import annotations

import asyncio

import pytest

import libdlock
from libdlock import aio


async def waiting(client: aio.Client, tasks: int) -> None:
    while client.stats().rw_lock.waiting != tasks:
        await asyncio.sleep(0.001)


async def test_with_holds_a_side_and_gives_it_back(aio_client: aio.Client, name: str) -> None:
    lock = aio_client.rw_lock(name, lease=20)
    async with lock.write as held:
        assert held.token > 0 and held.valid
        seen = await lock.inspect()
        assert (seen.writer, seen.ours, seen.readers) == (held.owner, True, 0)
        await held.extend(60)
        assert held.remaining > 40
    async with lock.read:
        assert (await lock.inspect()).readers == 1
    assert lock.read.held is None and lock.write.held is None


async def test_tasks_read_together_and_write_alone(aio_client: aio.Client, name: str) -> None:
    lock = aio_client.rw_lock(name)
    readers, writers, most = 0, 0, 0

    async def read() -> None:
        nonlocal readers, most
        async with lock.read:
            readers += 1
            most = max(most, readers)
            assert writers == 0
            await asyncio.sleep(0.002)
            readers -= 1

    async def write() -> None:
        nonlocal writers
        async with lock.write:
            writers += 1
            assert (readers, writers) == (0, 1)
            await asyncio.sleep(0)
            writers -= 1

    await asyncio.gather(*(task() for _ in range(6) for task in (read, read, read, write)))
    assert most > 1


async def test_a_task_that_reads_and_wants_to_write_is_refused(aio_client: aio.Client, name: str) -> None:
    lock = aio_client.rw_lock(name)
    async with lock.read:
        with pytest.raises(libdlock.Deadlock, match="release the read side first"):
            await lock.write.acquire()
    async with lock.write, lock.read:
        assert (lock.write.hold_count, lock.read.hold_count) == (1, 1)


async def test_a_downgraded_block_ends_the_read_side(aio_client: aio.Client, name: str) -> None:
    lock = aio_client.rw_lock(name)
    async with lock.write as held:
        other = asyncio.create_task(lock.read.take())
        await waiting(aio_client, 1)
        reads = await held.downgrade()
        assert isinstance(reads, aio.RwHeld)
        assert reads.token > held.token and reads.valid and not held.valid
        await (await asyncio.wait_for(other, 10)).release()
        with pytest.raises(libdlock.InvalidArgument, match="reads already"):
            await reads.downgrade()
    assert (lock.write.hold_count, lock.read.hold_count) == (0, 0)
    assert (await lock.inspect()).readers == 0


async def test_a_task_that_ends_after_a_downgrade_is_told(aio_client: aio.Client, name: str) -> None:
    lock = aio_client.rw_lock(name)

    async def forgets() -> None:
        await lock.write.acquire()
        await lock.write.downgrade()

    with pytest.warns(ResourceWarning, match=f"ended while it held <libdlock.aio.RwLockSide {name!r} read>"):
        await asyncio.create_task(forgets())
        await asyncio.sleep(0)

    async def does_not() -> None:
        await lock.read.acquire()
        await lock.read.release()

    await asyncio.create_task(does_not())


async def test_a_hold_that_is_taken_is_downgraded(aio_client: aio.Client, name: str) -> None:
    lock = aio_client.rw_lock(name)
    async with await lock.write.take() as held:
        with pytest.raises(libdlock.AcquireTimeout):
            await lock.read.take(wait=0)
        reads = await asyncio.create_task(held.downgrade())
        assert isinstance(reads, aio.OwnedRwHold)
    del held
    async with await lock.read.take(wait=0):
        assert reads.valid
    await reads.release()
    assert (await lock.inspect()).readers == 0


@pytest.mark.parametrize("side", ["read", "write"])
async def test_a_cancelled_wait_leaves_nothing(aio_client: aio.Client, name: str, side: str) -> None:
    lock = aio_client.rw_lock(name)
    held = await lock.write.take()
    task = asyncio.create_task(getattr(lock, side).acquire())
    await waiting(aio_client, 1)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await held.release()
    assert await lock.write.acquire(timeout=5)
    assert (await lock.inspect()).queued == 0
    await lock.write.release()


async def test_a_cancelled_downgrade_leaves_one_or_none(aio_client: aio.Client, name: str) -> None:
    lock = aio_client.rw_lock(name)

    async def downgrade() -> None:
        await lock.write.acquire()
        try:
            await lock.write.downgrade()
        finally:
            if lock.write.hold_count:
                await lock.write.release()
            if lock.read.hold_count:
                await lock.read.release()

    for steps in range(40):
        task = asyncio.create_task(downgrade())
        for _ in range(steps // 2):
            await asyncio.sleep(0)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        assert await lock.write.acquire(timeout=5)
        await lock.write.release()
    assert (await lock.inspect()).readers == 0


async def test_closing_ends_the_waits_of_tasks(aio_client: aio.Client, name: str) -> None:
    lock = aio_client.rw_lock(name)
    await lock.write.acquire()
    task = asyncio.create_task(lock.read.acquire())
    await waiting(aio_client, 1)
    await aio_client.close(release=True)
    with pytest.raises(libdlock.Closed):
        await task


async def test_a_forced_release_ends_holds_of_both_sides(aio_client: aio.Client, name: str) -> None:
    lock = aio_client.rw_lock(name)
    assert await lock.force_release() is False
    for side in (lock.read, lock.write):
        held = await side.take()
        assert await lock.force_release() is True
        assert not held.valid
        seen = await lock.inspect()
        assert (seen.writer, seen.readers) == (None, 0)
        with pytest.raises(libdlock.NotHeld):
            await held.release()


async def test_what_others_call_it_is_answered_with_our_name(aio_client: aio.Client, name: str) -> None:
    lock = aio_client.rw_lock(name)
    with pytest.raises(AttributeError, match=r"use `with lock\.read:`"):
        lock.reader_lock  # type: ignore[attr-defined]  # noqa: B018
    with pytest.raises(TypeError, match="`read` is no method"):
        lock.read()


async def test_a_scope_without_a_side_says_which_sides_there_are(aio_client: aio.Client, name: str) -> None:
    with pytest.raises(TypeError, match=r"use `async with lock\.read:` or `async with lock\.write:`$"):
        await aio_client.rw_lock(name).__aenter__()  # type: ignore[attr-defined]
