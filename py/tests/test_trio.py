"""`libdlock.aio` in tasks of trio, and through anyio on both backends."""

from __future__ import annotations

import gc
import random
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import pytest
import trio

import libdlock
from conftest import Python, ended
from libdlock import aio
from proxy import Proxy
from redis_server import RedisServer

Main = Callable[[aio.Client, aio.Client], Awaitable[object]]


def run(url: str, main: Main) -> None:
    """Runs it with two clients, which are two processes to the lock, within 30 s."""

    async def bounded() -> None:
        with trio.fail_after(30):
            async with aio.connect(url) as client, aio.connect(url) as other:
                await main(client, other)

    trio.run(bounded)


def test_a_lock_excludes_and_is_handed_over(url: str, name: str) -> None:
    inside: list[int] = []

    async def work(client: aio.Client, tokens: list[int]) -> None:
        async with client.lock(name) as held:
            assert not inside
            inside.append(1)
            await trio.sleep(0.001)
            inside.pop()
            tokens.append(held.token)

    async def main(client: aio.Client, other: aio.Client) -> None:
        tokens: list[int] = []
        async with trio.open_nursery() as nursery:
            for each in [client, other] * 20:
                nursery.start_soon(work, each, tokens)
        assert len(tokens) == 40 == len(set(tokens))
        assert tokens == sorted(tokens)

    run(url, main)


def test_every_primitive(url: str, name: str) -> None:
    async def main(client: aio.Client, other: aio.Client) -> None:
        lock = client.lock(name)
        assert await lock.acquire() and await lock.acquire() and lock.hold_count == 2
        assert not await other.lock(name).acquire(blocking=False)
        assert not await other.lock(name).acquire(timeout=0.05)
        await lock.extend(20)
        await lock.release()
        await lock.attach(await lock.detach())
        await lock.release()
        with pytest.raises(libdlock.NotHeld):
            await lock.release()
        async with await lock.take() as taken:
            await taken.extend(20)
            assert (await other.lock(name).inspect()).holder == taken.owner
        async with client.semaphore(f"{name}-s", 2) as permits:
            assert permits.permits
        rw = client.rw_lock(f"{name}-rw")
        async with rw.write as written:
            await written.downgrade()
            async with other.rw_lock(f"{name}-rw").read:
                pass
        async with client.lock_all([f"{name}-1", f"{name}-2"]) as several:
            assert len(several.tokens) == 2
        latch = client.latch(f"{name}-l")
        await latch.try_set_count(1)
        assert not await latch.wait(0.01)
        await latch.count_down()
        assert await latch.wait(1)
        assert await client.id_generator(f"{name}-i", block=5).next_id()
        assert (await client.bloom_filter(f"{name}-b", expected=10, false_positive_rate=0.1).add(["a"])) == [
            True
        ]
        jobs = client.queue(f"{name}-q")
        await jobs.put("work")
        async with await jobs.take() as delivery:
            assert delivery.payload == b"work"
        assert await jobs.take(0) is None
        slots = client.counting_semaphore(f"{name}-c")
        await slots.try_set_permits(1)
        assert await slots.acquire()
        await slots.release()
        async with await client.worker(f"{name}-w") as worker:
            assert worker.snowflake().next_id()
        limiter = client.rate_limiter(f"{name}-r", rate=2, per=60)
        assert await limiter.try_acquire() and await limiter.acquire()
        assert not await limiter.try_acquire()
        assert client.stats().lock.acquired >= 4

        @client.synchronized(name)
        async def alone() -> bool:
            return await other.lock(name).locked()

        assert await alone()

    run(url, main)


def test_a_time_out_leaves_nothing_behind(url: str, name: str) -> None:
    async def main(client: aio.Client, other: aio.Client) -> None:
        async with client.lock(name):
            began = time.monotonic()
            with trio.move_on_after(0.1) as scope:
                await other.lock(name).acquire()
            assert scope.cancelled_caught
            assert time.monotonic() - began < 2  # not at the end of a lease, which is 30 s
        async with client.lock(name, wait=5):
            pass

    run(url, main)


def test_a_cancelled_block_releases_its_lock(url: str, name: str) -> None:
    async def main(client: aio.Client, other: aio.Client) -> None:
        with trio.move_on_after(0.05) as scope:
            async with client.lock(name):
                await trio.sleep_forever()
        assert scope.cancelled_caught
        # Not only under way: the end of the block has waited for it.
        assert not await other.lock(name).locked()

    run(url, main)


def test_a_cancelled_block_waits_for_its_release(proxy: Proxy, name: str) -> None:
    async def main(client: aio.Client, other: aio.Client) -> None:
        with trio.CancelScope() as scope:
            async with client.lock(name):
                proxy.hold_replies()
                passing = threading.Timer(0.3, proxy.pass_replies)
                began = time.monotonic()
                passing.start()
                scope.cancel()
                await trio.sleep_forever()
        assert time.monotonic() - began >= 0.3
        passing.join()

    run(proxy.url, main)


def test_nothing_is_asked_for_in_a_cancelled_scope(url: str, name: str) -> None:
    async def main(client: aio.Client, other: aio.Client) -> None:
        limiter = client.rate_limiter(name, rate=1, per=60)
        with trio.CancelScope() as scope:
            scope.cancel()
            await limiter.try_acquire()
        assert scope.cancelled_caught
        assert await limiter.try_acquire()

    run(url, main)


def test_1000_cancelled_at_any_moment_hold_nothing(server: RedisServer, name: str) -> None:
    random.seed(5)

    async def take(lock: aio.Lock, scope: trio.CancelScope) -> None:
        with scope:
            async with lock:
                pass

    async def main(client: aio.Client, other: aio.Client) -> None:
        locks = [client.lock(f"{name}-{number}") for number in range(1000)]
        scopes = [trio.CancelScope() for _ in locks]
        async with trio.open_nursery() as nursery:
            for lock, scope in zip(locks, scopes, strict=True):
                nursery.start_soon(take, lock, scope)
            random.shuffle(scopes)
            for number, scope in enumerate(scopes):
                if number % 20 == 0:
                    await trio.lowlevel.checkpoint()
                scope.cancel()
        # A late grant's release is on its way on this connection: what comes after it sees its effect.
        await client.close(release=True)
        assert [lock.name for lock in locks if await other.lock(lock.name).locked()] == []

    run(server.url, main)


def test_every_call_is_a_checkpoint() -> None:
    async def main(client: aio.Client, other: aio.Client) -> None:
        turns = 0

        async def others() -> None:
            nonlocal turns
            while True:
                turns += 1
                await trio.lowlevel.checkpoint()

        async with trio.open_nursery() as nursery:
            nursery.start_soon(others)
            lock = client.lock("k")
            for _ in range(50):
                await lock.acquire()
                await lock.release()
            nursery.cancel_scope.cancel()
        assert turns >= 50

    run("memory://", main)


def test_a_loss_is_awaited(url: str, name: str) -> None:
    async def main(client: aio.Client, other: aio.Client) -> None:
        held = await client.lock(name).take()
        lost: list[bool] = []

        async def watch() -> None:
            lost.append(await held.lost.wait())

        async with trio.open_nursery() as nursery:
            nursery.start_soon(watch)
            await trio.sleep(0.05)
            assert await other.lock(name).force_release()
        assert lost == [True]
        with pytest.raises(libdlock.NotHeld):
            await held.release()

    run(url, main)


def test_a_task_that_ends_while_it_holds_is_named(url: str, name: str) -> None:
    async def forgets(client: aio.Client) -> None:
        await client.lock(name, lease=0.5).acquire()

    async def main(client: aio.Client, other: aio.Client) -> None:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            async with trio.open_nursery() as nursery:
                nursery.start_soon(forgets, client, name="forgetful")
        assert ["forgetful" in str(each.message) for each in caught] == [True]
        assert "ended while it held" in str(caught[0].message)
        async with other.lock(name, wait=5):
            pass

    run(url, main)


def test_tasks_hold_for_themselves(url: str, name: str) -> None:
    async def main(client: aio.Client, other: aio.Client) -> None:
        lock = client.lock(name)

        async def another() -> None:
            assert lock.held is None
            assert not await lock.acquire(blocking=False)
            with pytest.raises(libdlock.NotHeld):
                await lock.release()

        async with lock, trio.open_nursery() as nursery:
            assert lock.held is not None
            nursery.start_soon(another)

    run(url, main)


def test_runs_follow_one_another_with_one_client(url: str, name: str) -> None:
    client = trio.run(aio.connect(url)._open)
    for _ in range(3):

        async def once() -> None:
            async with client.lock(name):
                pass

        trio.run(once)
    trio.run(client.close)
    gc.collect()


def test_a_server_that_is_away_is_told(own_server: RedisServer, name: str) -> None:
    async def main() -> None:
        with trio.fail_after(20):
            async with aio.connect(own_server.url, operation_timeout=0.5) as client:
                lock = client.lock(name)
                await lock.acquire()
                own_server.kill()
                with pytest.raises(libdlock.Unavailable):
                    await client.lock(f"{name}-2").acquire(blocking=False)
                with trio.move_on_after(0.01), pytest.raises((libdlock.DlockError, trio.Cancelled)):
                    await lock.release()

    trio.run(main)


INTERRUPTED = """
import sys, time, trio
from libdlock import aio

async def main():
    async with aio.connect(sys.argv[1]) as client, aio.connect(sys.argv[1]) as other:
        async with client.lock("k"):
            print("waiting", flush=True)
            await other.lock("k").acquire()

try:
    trio.run(main)
except* KeyboardInterrupt:
    print(time.monotonic(), flush=True)

async def free():
    async with aio.connect(sys.argv[1]) as client:
        assert not await client.lock("k").locked()
trio.run(free)
"""


def test_ctrl_c_ends_a_wait_and_releases(python: Python, server: RedisServer) -> None:
    program = INTERRUPTED.replace("except*", "except") if sys.version_info < (3, 11) else INTERRUPTED
    process = python(program, server.url)
    assert process.stdout is not None
    assert process.stdout.readline() == "waiting\n"
    time.sleep(0.2)  # the subject is a wait that has begun, and nothing tells from outside that it has
    sent = time.monotonic()
    process.send_signal(2)
    # Trio itself wakes for it; the rest is the machine's.
    assert float(process.stdout.readline()) - sent < 2
    ended(process)


def test_a_consumer_says_what_it_needs() -> None:
    async def handler(delivery: aio.Delivery) -> None:
        raise AssertionError

    async def main(client: aio.Client, other: aio.Client) -> None:
        with pytest.raises(
            libdlock.Unsupported, match=r"a consumer needs asyncio, .* task of trio\. Take the"
        ):
            client.queue("q").consume(handler)

    run("memory://", main)


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_anyio(url: str, name: str, backend: str) -> None:
    async def work(client: aio.Client, done: list[int]) -> None:
        async with client.lock(name) as held:
            await anyio.sleep(0.001)
            done.append(held.token)

    async def main() -> None:
        with anyio.fail_after(30):
            async with aio.connect(url) as client, aio.connect(url) as other:
                done: list[int] = []
                async with anyio.create_task_group() as group:
                    for each in [client, other] * 10:
                        group.start_soon(work, each, done)
                assert len(done) == 20 and done == sorted(done)
                with anyio.move_on_after(0.05) as scope:
                    async with client.lock(name):
                        await other.lock(name).acquire()
                assert scope.cancelled_caught
                async with other.lock(name, wait=5):
                    pass
                limiter = client.rate_limiter(f"{name}-r", rate=3, per=60)
                decisions: list[Any] = []

                async def decide() -> None:
                    decisions.append(await limiter.try_acquire())

                async with anyio.create_task_group() as group:
                    for _ in range(5):
                        group.start_soon(decide)
                assert sum(map(bool, decisions)) == 3

    anyio.run(main, backend=backend)


def test_trio_is_imported_by_its_users_alone() -> None:
    program = """
import asyncio, sys
from libdlock import aio
async def main():
    async with aio.connect("memory://") as client, client.lock("k"):
        pass
asyncio.run(main())
assert "trio" not in sys.modules and "anyio" not in sys.modules
"""
    assert subprocess.run([sys.executable, "-c", program], check=False, timeout=60).returncode == 0
