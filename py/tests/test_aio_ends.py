"""What nobody released or closed: tasks that end or are collected while they hold, locks and clients that are forgotten."""

from __future__ import annotations

import asyncio
import gc
import time
import warnings
from collections.abc import Iterator

import pytest

import libdlock
from conftest import LOOPS
from libdlock import aio
from libdlock.aio._holder import running_holder
from redis_server import RedisServer


@pytest.fixture
def texts(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The texts of warnings alone: `pytest.warns` keeps the objects they are about, which would not be collected."""
    seen: list[str] = []
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        monkeypatch.setattr(warnings, "showwarning", lambda message, *_: seen.append(str(message)))
        yield seen


async def test_a_task_that_ends_while_holding(url: str, name: str, texts: list[str]) -> None:
    async with aio.connect(url, lease=0.6) as client, aio.connect(url) as other:
        lock = client.lock(name)
        await asyncio.create_task(lock.acquire(), name="forgetful")
        await asyncio.sleep(0)  # its end is told to callbacks in the next turn
        assert texts == [
            f"task 'forgetful' ended while it held <libdlock.aio.Lock '{name}'>: its lease is not renewed any more"
        ]
        assert await other.lock(name).locked()
        began = time.monotonic()
        async with other.lock(name, wait=5):
            assert time.monotonic() - began < 2  # its lease, a poll's slack allowed
        assert lock.hold_count == 0


async def test_a_task_that_fails_and_one_that_is_cancelled_while_holding(
    url: str, name: str, texts: list[str]
) -> None:
    async with aio.connect(url, lease=0.6) as client, aio.connect(url) as other:
        locks = [client.lock(f"{name}-{number}") for number in range(2)]

        async def fail() -> None:
            await locks[0].acquire()
            raise KeyError("mine")

        async def hang() -> None:
            await locks[1].acquire()
            held.set()
            await asyncio.get_running_loop().create_future()

        held = asyncio.Event()
        tasks = [asyncio.create_task(fail()), asyncio.create_task(hang())]
        await held.wait()
        tasks[1].cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await asyncio.sleep(0)
        assert sorted(text.partition("held ")[2].partition(">")[0] for text in texts) == [
            f"<libdlock.aio.Lock '{lock.name}'" for lock in locks
        ]
        for lock in locks:
            async with other.lock(lock.name, wait=5):
                pass


async def test_tasks_that_end_in_order_are_not_warned_about(
    aio_client: aio.Client, name: str, texts: list[str]
) -> None:
    async def work() -> None:
        async with aio_client.lock(name), aio_client.lock(name):
            pass
        passed = aio_client.lock(name + "-passed")
        await passed.acquire()
        await (await aio_client.lock(name + "-passed").attach(await passed.detach())).release()
        with pytest.raises(libdlock.NotHeld):
            await aio_client.lock(name).release()
        lost = aio_client.lock(name, lease=0.1)
        await lost.acquire()
        assert lost.held is not None
        assert await lost.held.lost.wait(5)

    await asyncio.create_task(work())
    await asyncio.sleep(0)
    gc.collect()
    assert texts == []


async def test_a_task_keeps_its_hold_when_the_lock_object_goes(url: str, name: str, texts: list[str]) -> None:
    async with aio.connect(url, lease=0.6) as client, aio.connect(url) as other:

        async def work() -> None:
            await client.lock(name).acquire()
            gc.collect()
            assert not await other.lock(name).acquire(timeout=1.2), "renewed"
            await client.lock(name).release()
            assert not await other.lock(name).locked()
            await client.lock(name).acquire()

        await asyncio.create_task(work(), name="forgetful")
        await asyncio.sleep(0)
        assert texts == [
            f"task 'forgetful' ended while it held <libdlock.aio.Lock '{name}'>: its lease is not renewed any more"
        ]


async def test_a_task_remembers_no_more_than_it_holds(aio_client: aio.Client, name: str) -> None:
    """It acquires through one object and releases through another, both of the same lock."""
    for number in range(100):
        await (lock := aio_client.lock(f"{name}-{number}")).acquire()
        await aio_client.lock(f"{name}-{number}").release()
        assert lock.hold_count == 0
    assert running_holder()._levels == {}


async def test_an_unclosed_client(url: str, name: str, texts: list[str]) -> None:
    client = await aio.connect(url)
    del client
    gc.collect()
    assert texts == ["unclosed <libdlock.aio.Client>: its locks are no longer renewed"]


@pytest.mark.parametrize("loop", LOOPS)
def test_a_loop_closed_with_operations_pending(
    server: RedisServer, name: str, loop: str, texts: list[str]
) -> None:
    """Tasks wait, hold, connect; then the loop is closed under them. Nothing of theirs lives on once they are collected."""
    with libdlock.connect(server.url) as other:
        holder = other.lock(name)
        assert holder.acquire()
        running = LOOPS[loop]()

        async def main() -> None:
            client = await aio.connect(server.url, lease=0.6)

            async def hold(lock: aio.Lock) -> None:
                async with lock:
                    await asyncio.get_running_loop().create_future()

            mine = client.lock(name + "-mine")
            tasks.append(asyncio.create_task(hold(mine), name="hold"))
            tasks.extend(asyncio.create_task(client.lock(name).acquire()) for _ in range(50))
            while not other.lock(mine.name).locked():
                await asyncio.sleep(0)

        tasks: list[asyncio.Task[object]] = []
        running.run_until_complete(main())
        running.set_exception_handler(
            lambda *_: None
        )  # "Task was destroyed but it is pending!" is what this is about
        running.close()
        tasks.clear()
        del running
        gc.collect()
        # Task, lock and client go together, in an order that is the collector's: the first of them says it.
        assert texts
        holder.release()
        # Of the fifty, none takes what it waited for.
        for _ in range(3):
            with other.lock(name, wait=5):
                pass
        with other.lock(name + "-mine", wait=5):
            pass
