"""A task that is cancelled while it waits, at whatever point, leaves nothing behind."""

from __future__ import annotations

import asyncio
import random
import select
import time

import pytest

import libdlock
from conftest import TRIES
from libdlock import aio
from libdlock.aio._port import running_port
from proxy import Proxy
from redis_server import RedisServer


async def cancelled(task: asyncio.Task[object]) -> None:
    """Cancels the task and sees that it ends so."""
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def free_at_last(client: aio.Client, name: str) -> None:
    """Somebody else gets it: what was on its way is given back within a round trip or two, and not after a lease of 30 s."""
    async with client.lock(name, wait=10, lease=10):
        pass


async def test_a_waiting_task(aio_client: aio.Client, aio_other: aio.Client, name: str) -> None:
    async with aio_client.lock(name):
        for _ in TRIES:
            waiting = asyncio.create_task(aio_other.lock(name).acquire())
            done, _ = await asyncio.wait([waiting], timeout=0.1)
            assert not done
            began = time.monotonic()
            await cancelled(waiting)
            took = time.monotonic() - began
            if took < 0.05:
                break
        else:
            pytest.fail(f"the cancellation took {took} s")
    await free_at_last(aio_client, name)


async def test_a_timeout_is_a_cancellation(aio_client: aio.Client, aio_other: aio.Client, name: str) -> None:
    async with aio_client.lock(name):
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(aio_other.lock(name).acquire(), 0.05)
    await free_at_last(aio_client, name)


async def test_ten_thousand_at_once_between_request_and_reply(server: RedisServer, name: str) -> None:
    """Each gives up at a moment of its own, from before its request was sent until after its reply arrived."""
    # The default times are for one operation, and 10,000 are under way at once.
    async with aio.connect(server.url, lease=3600, response_timeout=60, operation_timeout=600) as client:
        locks = [client.lock(f"{name}-{number}") for number in range(10_000)]
        tasks = [asyncio.create_task(take_and_free(lock)) for lock in locks]
        random.seed(14)
        random.shuffle(tasks)
        for number, task in enumerate(tasks):
            if number % 50 == 0:
                await asyncio.sleep(0)
            task.cancel()
        ended = await asyncio.gather(*tasks, return_exceptions=True)
        assert {type(each) for each in ended} <= {asyncio.CancelledError, type(None)}
        # A late grant's release is on its way on this connection: what comes after it sees its effect.
        await client.close(release=True)
        assert server.command("KEYS", f"{name}-*") == []  # a held lock is a key of its name


async def take_and_free(lock: aio.Lock) -> None:
    async with lock:
        pass


async def take_and_keep(lock: aio.Lock) -> None:
    async with lock:
        await asyncio.Event().wait()


async def test_cancelled_with_the_reply_held_back(proxy: Proxy, server: RedisServer, name: str) -> None:
    """The grant is on its way, and its task does not want it any more."""
    async with aio.connect(proxy.url) as client, aio.connect(server.url) as other:
        for _ in range(20):
            await take_and_free(
                client.lock(name)
            )  # the scripts are loaded, and no release is under way any more
            proxy.hold_replies()
            taking = asyncio.create_task(client.lock(name).acquire())
            while not await other.lock(name).locked():  # the request has been carried out
                await asyncio.sleep(0)
            await cancelled(taking)
            proxy.pass_replies()
            await free_at_last(other, name)


async def test_cancelled_with_the_reply_lost(proxy: Proxy, server: RedisServer, name: str) -> None:
    async with aio.connect(proxy.url) as client, aio.connect(server.url) as other:
        for _ in range(10):
            await take_and_free(client.lock(name))
            proxy.reset_at_reply_to(name)
            # It may be told by its second attempt before the loop sees what the first one did.
            taking = asyncio.create_task(take_and_keep(client.lock(name)))
            while not await other.lock(name).locked():
                await asyncio.sleep(0)
            await cancelled(taking)
            await free_at_last(other, name)


async def test_in_the_turn_in_which_the_grant_is_delivered(
    aio_client: aio.Client, aio_other: aio.Client, name: str
) -> None:
    """Its future is set, its task has not run: and the same task asks again at once."""
    lock, held = aio_client.lock(name, reentrant=False), aio_other.lock(name)
    port = running_port()
    hand_out = port._hand_out
    asking: asyncio.Task[None] | None = None

    def hand_out_and_cancel() -> None:
        nonlocal asking
        hand_out()
        waits_for: asyncio.Future[object] | None = getattr(asking, "_fut_waiter", None)
        if asking is not None and waits_for is not None and waits_for.done():
            asking.cancel()
            asking = None

    async def ask_twice() -> None:
        with pytest.raises(asyncio.CancelledError):
            await lock.acquire()
        assert lock.hold_count == 0
        # Neither `Deadlock` nor a wait for oneself.
        assert await lock.acquire(timeout=5)
        await lock.release()

    port._hand_out = hand_out_and_cancel  # type: ignore[method-assign]
    for _ in range(20):
        await held.acquire()
        task = asyncio.create_task(ask_twice())
        await asyncio.sleep(0)  # it has asked
        asking = task
        await held.release()
        await task
        assert asking is None
    await free_at_last(aio_other, name)


async def test_while_the_grant_waits_to_be_delivered(
    aio_client: aio.Client, aio_other: aio.Client, other: libdlock.Client, name: str
) -> None:
    """The core has answered, the loop has not looked yet: and the same task asks again at once."""
    lock = aio_client.lock(name, reentrant=False)
    descriptor = running_port()._native.descriptor

    async def ask_twice() -> None:
        with pytest.raises(asyncio.CancelledError):
            await lock.acquire()
        assert lock.hold_count == 0
        assert await lock.acquire(timeout=5)
        await lock.release()

    for _ in range(20):
        with other.lock(name):
            task = asyncio.create_task(ask_twice())
            await asyncio.sleep(0)  # it has asked
        assert select.select([descriptor], [], [], 5)[0]  # and has its answer
        task.cancel()
        await task
    await free_at_last(aio_other, name)


async def test_a_release_is_carried_out_though_its_task_is_cancelled(
    aio_client: aio.Client, aio_other: aio.Client, name: str
) -> None:
    lock = aio_client.lock(name)
    for turns in range(5):

        async def hold_and_release() -> None:
            async with lock:
                pass

        task = asyncio.create_task(hold_and_release())
        while not await aio_other.lock(name).locked() and not task.done():
            await asyncio.sleep(0)
        for _ in range(turns):
            await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait([task])
        await free_at_last(aio_other, name)


async def test_a_release_is_carried_out_though_its_lock_is_forgotten(
    aio_client: aio.Client, aio_other: aio.Client, name: str
) -> None:
    """The task is cancelled as it leaves the block, and with it goes the last object of that lock."""

    async def in_and_out(number: int) -> None:
        async with aio_client.lock(f"{name}-{number}"):
            pass

    for turns in range(50):
        tasks = [asyncio.create_task(in_and_out(number)) for number in range(10)]
        for _ in range(turns):
            await asyncio.sleep(0)
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
        del tasks, task
    for number in range(10):
        await free_at_last(aio_other, f"{name}-{number}")


async def test_a_close_that_releases_survives_its_cancelled_task(
    url: str, aio_other: aio.Client, name: str
) -> None:
    async def open_and_close(held: asyncio.Event) -> None:
        client = await aio.connect(url)
        lock = client.lock(name)
        await lock.acquire()
        held.set()
        try:
            await client.close(release=True)
        finally:
            assert client.closed

    for turns in range(20):
        held = asyncio.Event()
        task = asyncio.create_task(open_and_close(held))
        await held.wait()
        for _ in range(turns):
            await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait([task])
        del task
        await free_at_last(aio_other, name)


async def test_a_failure_in_the_turn_of_the_cancellation_is_logged(
    aio_client: aio.Client, aio_other: aio.Client, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    lock = aio_client.lock(name)
    descriptor = running_port()._native.descriptor

    async def hold_and_release() -> None:
        await lock.acquire()
        held.set()
        await go.wait()
        await lock.release()

    # The loop has not looked for the answer, or has taken it and not yet told the task.
    for delivered in (False, True):
        caplog.clear()
        held, go = asyncio.Event(), asyncio.Event()
        task = asyncio.create_task(hold_and_release())
        await held.wait()
        await aio_other.lock(name).force_release()
        go.set()
        await asyncio.sleep(0)  # it has asked for the release
        if task.done():  # the answer was there at once, as in memory it always is
            with pytest.raises(libdlock.NotHeld):
                await task
            continue
        assert select.select([descriptor], [], [], 5)[0]  # which has failed
        if delivered:
            running_port()._deliver()
        await cancelled(task)
        while "its caller was cancelled" not in caplog.text:
            await asyncio.sleep(0)


async def test_a_release_that_fails_unattended_is_logged(
    proxy: Proxy, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with aio.connect(proxy.url, operation_timeout=1, response_timeout=0.5) as client:
        lock = client.lock(name, lease=60)
        acquired = asyncio.Event()

        async def release_into_nothing() -> None:
            await lock.acquire()
            proxy.black_hole()
            acquired.set()
            await lock.release()

        task = asyncio.create_task(release_into_nothing())
        await acquired.wait()
        await asyncio.sleep(0)  # it has asked for the release
        await cancelled(task)
        while "its caller was cancelled" not in caplog.text:
            await asyncio.sleep(0.01)  # what is awaited has no event: a line in a log


async def test_a_cancelled_wait_for_a_loss(aio_client: aio.Client, name: str) -> None:
    async with aio_client.lock(name) as held:
        waiting = asyncio.create_task(held.lost.wait())
        await asyncio.sleep(0)
        await cancelled(waiting)
        assert held.valid


async def test_a_cancelled_connect_leaves_no_connection(own_server: RedisServer) -> None:
    for turns in range(30):
        connecting = asyncio.ensure_future(aio.connect(own_server.url, client_name="given-up"))
        for _ in range(turns):
            await asyncio.sleep(0)
        connecting.cancel()
        await asyncio.wait([connecting])
        if not connecting.cancelled():
            await connecting.result().close()
    deadline = time.monotonic() + 5
    while b"given-up" in (own_server.command("CLIENT", "LIST") or b""):  # type: ignore[operator]
        assert time.monotonic() < deadline
        await asyncio.sleep(0.01)  # connections end when they end


async def test_close_with_1_000_waiting(url: str, aio_client: aio.Client, name: str) -> None:
    """All of them end with the client."""
    async with aio_client.lock(name):
        for _ in TRIES:
            mine = await aio.connect(url)
            waiting = [asyncio.create_task(mine.lock(name).acquire()) for _ in range(1000)]
            done, _ = await asyncio.wait(waiting, timeout=0.2)
            assert not done
            began = time.monotonic()
            await mine.close()
            ended = await asyncio.gather(*waiting, return_exceptions=True)
            took = time.monotonic() - began
            assert {type(each) for each in ended} == {libdlock.Closed}
            # 100 ms is meant; 1,000 tasks of one loop take their turns on a machine that runs all the other tests too.
            if took < 2:
                break
        else:
            pytest.fail(f"the end took {took} s")
