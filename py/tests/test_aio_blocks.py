"""Blocks of `async with` whose end another task runs: generators left by `break`, fixtures, exit stacks."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import AsyncGenerator, Callable
from contextlib import AsyncExitStack
from typing import Any

import pytest
import trio

import libdlock
from libdlock import aio
from libdlock.testing import ManualClock

Open = Callable[[aio.Client, str], Any]
KINDS: dict[str, Open] = {
    "lock": lambda client, name: client.lock(name),
    "lock_all": lambda client, name: client.lock_all([name]),
    "read": lambda client, name: client.rw_lock(name).read,
    "write": lambda client, name: client.rw_lock(name).write,
    "semaphore": lambda client, name: client.semaphore(name, 1),
}
of_each_kind = pytest.mark.parametrize("kind", KINDS)


async def is_free(client: aio.Client, kind: str, name: str) -> bool:
    other = client.rw_lock(name).write if kind == "read" else KINDS[kind](client, name)
    if not await other.acquire(blocking=False):
        return False
    await other.release()
    return True


async def within(thing: Any) -> AsyncGenerator[Any, None]:
    async with thing as held:
        yield held


@of_each_kind
async def test_a_generator_left_by_break_ends_its_hold(url: str, name: str, kind: str) -> None:
    async with aio.connect(url) as client, aio.connect(url) as other:
        async for held in within(KINDS[kind](client, name)):
            assert held.valid
            break
        gc.collect()  # the loop closes it, in a task of its own
        ends = asyncio.get_running_loop().time() + 10  # a third of the lease that would keep it
        while not await is_free(other, kind, name):
            assert asyncio.get_running_loop().time() < ends
            await asyncio.sleep(0.01)


@of_each_kind
async def test_what_a_task_set_up_is_renewed_until_another_ends_it(
    name: str, kind: str, recwarn: pytest.WarningsRecorder
) -> None:
    clock = ManualClock()
    async with clock.aio_connect(lease=10) as client:
        fixture = within(KINDS[kind](client, name))
        held = await asyncio.create_task(anext(fixture))
        clock.advance(30)  # three leases
        assert held.valid
        await asyncio.create_task(fixture.aclose())
        assert not held.valid
        assert await is_free(client, kind, name)
        assert [str(warning.message) for warning in recwarn] == []


async def test_each_block_ends_its_own_permit(aio_client: aio.Client, name: str) -> None:
    semaphore = aio_client.semaphore(name, 3)
    fixture = within(semaphore)
    set_up = await asyncio.create_task(anext(fixture))
    async with semaphore as outer:
        async with semaphore as inner:
            await fixture.aclose()
            assert (set_up.valid, outer.valid, inner.valid) == (False, True, True)
        assert (outer.valid, inner.valid) == (True, False)
    assert not outer.valid
    assert (await semaphore.inspect()).available == 3


async def test_an_inner_block_may_end_after_an_outer(aio_client: aio.Client, name: str) -> None:
    semaphore = aio_client.semaphore(name, 2)
    first, second = within(semaphore), within(semaphore)
    outer, inner = await first.__anext__(), await anext(second)
    await first.aclose()
    assert (outer.valid, inner.valid) == (False, True)
    await second.aclose()
    assert not inner.valid


@of_each_kind
async def test_an_exit_stack_is_closed_by_another_task(aio_client: aio.Client, name: str, kind: str) -> None:
    stack = AsyncExitStack()
    thing = KINDS[kind](aio_client, name)
    held = await asyncio.create_task(stack.enter_async_context(thing))
    await asyncio.sleep(0)
    assert held.valid
    await stack.aclose()
    assert not held.valid
    assert await is_free(aio_client, kind, name)


async def test_a_block_of_another_task_ends_the_side_it_was_downgraded_to(url: str, name: str) -> None:
    async with aio.connect(url) as client, aio.connect(url) as other:

        async def work() -> AsyncGenerator[aio.RwHeld, None]:
            async with client.rw_lock(name).write as held:
                yield await held.downgrade()

        fixture = work()
        reads = await asyncio.create_task(anext(fixture))
        assert reads.valid
        async with other.rw_lock(name).read:
            pass
        await fixture.aclose()
        assert not reads.valid
        assert await is_free(other, "write", name)


@of_each_kind
async def test_release_by_another_task_is_refused(aio_client: aio.Client, name: str, kind: str) -> None:
    thing = KINDS[kind](aio_client, name)
    async with thing as held:
        for release in (thing.release, held.release):
            with pytest.raises(libdlock.NotHeld):
                await asyncio.create_task(release())
        assert held.valid


async def test_a_block_that_nobody_can_end_is_abandoned(url: str, name: str) -> None:
    async with aio.connect(url, lease=0.6) as client, aio.connect(url) as other:
        lock = client.lock(name)

        async def work() -> AsyncExitStack:
            stack = AsyncExitStack()
            await stack.enter_async_context(lock)
            return stack

        stack = await asyncio.create_task(work(), name="forgetful")
        await asyncio.sleep(0)
        with pytest.warns(ResourceWarning, match="task 'forgetful' ended while it held"):
            del stack
            gc.collect()
        async with other.lock(name, wait=5):
            pass


async def test_a_block_entered_and_left_by_hand(aio_client: aio.Client, name: str) -> None:
    semaphore = aio_client.semaphore(name, 2)
    outer = await semaphore.__aenter__()
    inner = await semaphore.__aenter__()
    await semaphore.__aexit__(None, None, None)
    assert (outer.valid, inner.valid) == (True, False)
    await semaphore.__aexit__(None, None, None)
    assert not outer.valid
    with pytest.raises(libdlock.NotHeld):
        await semaphore.__aexit__(None, None, None)


def test_tasks_of_trio_end_blocks_of_one_another(name: str) -> None:
    async def work() -> None:
        clock = ManualClock()
        async with clock.aio_connect(lease=10) as client:
            fixture = within(client.lock(name))

            async def set_up() -> None:
                assert (await fixture.__anext__()).valid

            async with trio.open_nursery() as nursery:
                nursery.start_soon(set_up)
            clock.advance(30)  # three leases
            assert await client.lock(name).locked()
            await fixture.aclose()
            assert not await client.lock(name).locked()

    trio.run(work)
