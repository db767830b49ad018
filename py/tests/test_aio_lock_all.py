"""Several locks as one, for tasks."""

from __future__ import annotations

import asyncio
import time

import pytest

import libdlock
from libdlock import aio


@pytest.fixture
def names(name: str) -> list[str]:
    return [f"{name}-a", f"{name}-b"]


async def queued(lock: aio.Lock, processes: int) -> None:
    """Until so many processes stand in its queue."""
    end = time.monotonic() + 10
    while (await lock.inspect()).queued != processes:
        assert time.monotonic() < end
        await asyncio.sleep(0.002)


async def held_by_anybody(client: aio.Client, names: list[str]) -> list[bool]:
    return [await client.lock(name).locked() for name in names]


async def test_a_task_holds_all_of_them(aio_client: aio.Client, names: list[str]) -> None:
    both = aio_client.lock_all(set(names), lease=20)
    async with both as held:
        assert list(held.tokens) == names
        assert (
            repr(held) == f"<libdlock.aio.HeldAll {', '.join(names)!r} tokens={list(held.tokens.values())}>"
        )
        assert (held.lost_name, both.hold_count) == (None, 1)
        await held.extend(60)
        assert held.remaining > 40

        async def another_task() -> None:
            assert not await both.acquire(blocking=False)
            assert not await both.acquire(timeout=0.02)
            with pytest.raises(libdlock.NotHeld):
                await both.release()

        await asyncio.create_task(another_task())
        async with both:
            assert both.hold_count == 2
    assert await held_by_anybody(aio_client, names) == [False, False]


async def test_a_taken_hold_is_released_by_any_task(aio_client: aio.Client, names: list[str]) -> None:
    held = await aio_client.lock_all(names).take(wait=1)
    assert repr(held).startswith("<libdlock.aio.OwnedHoldAll ")
    with pytest.raises(libdlock.InvalidArgument):
        await held.detach()
    await asyncio.create_task(held.release())
    assert await held_by_anybody(aio_client, names) == [False, False]


async def test_a_lost_lock_is_named_and_the_others_are_released(
    aio_client: aio.Client, aio_other: aio.Client, names: list[str]
) -> None:
    both = aio_client.lock_all(names)
    with pytest.raises(libdlock.NotHeld, match=names[0]):
        async with both:
            held = both.held
            assert held is not None
            assert await aio_other.lock(names[0]).force_release()
            assert await held.lost.wait(10)
            assert held.lost_name == names[0]
            del held
    assert await held_by_anybody(aio_other, names) == [False, False]


async def test_a_cancelled_task_keeps_none_of_them(
    aio_client: aio.Client, aio_other: aio.Client, names: list[str]
) -> None:
    both, first, second = aio_client.lock_all(names), aio_other.lock(names[0]), aio_other.lock(names[1])
    await second.acquire()
    for _ in range(5):
        waits = asyncio.create_task(both.acquire())
        await queued(second, 1)
        waits.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waits
        assert await first.acquire(timeout=10), "given back"
        await first.release()
        await queued(second, 0)
    await second.release()
    async with both:
        pass


async def test_a_set_of_a_forgotten_task_runs_out(aio_client: aio.Client, names: list[str]) -> None:
    both = aio_client.lock_all(names, lease=0.2)

    async def forgets() -> None:
        await both.acquire()

    with pytest.warns(ResourceWarning, match="ended while it held <libdlock.aio.LockAll"):
        await asyncio.create_task(forgets())
        await asyncio.sleep(0)
    assert await both.acquire(timeout=10)
    await both.release()


async def test_one_text_is_not_a_list_of_names(aio_client: aio.Client) -> None:
    with pytest.raises(TypeError, match="names must be a list of names, not one str"):
        aio_client.lock_all("stock")
    with pytest.raises(TypeError, match="lock_all takes one list of names"):
        aio_client.lock_all("a", "b")  # type: ignore[arg-type]
