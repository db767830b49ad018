"""Faults that an asyncio program meets. tests/faults/README.md lists all of them, with the tests that have a checker."""

from __future__ import annotations

import asyncio
import os
import signal
import time

import pytest

import libdlock
from conftest import LOOPS, TRIES, Python
from libdlock import aio
from proxy import Proxy
from redis_server import RedisServer

HOLDER = """
import asyncio, sys, uvloop
from libdlock import aio
loop, url, name, lease = sys.argv[1:]

async def main():
    async with aio.connect(url, lease=float(lease)) as client:
        lock = client.lock(name)
        await lock.acquire()
        held = lock.held
        print(held.token, flush=True)
        print(await held.lost.wait(30), held.valid, held.lost.reason, flush=True)
        try:
            await lock.release()
        except aio.DlockError as error:
            print(error.kind, flush=True)

{"asyncio": asyncio, "uvloop": uvloop}[loop].run(main())
"""


@pytest.mark.parametrize("loop", LOOPS)
async def test_a_killed_holder_s_lock_comes_free_with_its_lease(
    server: RedisServer, python: Python, name: str, loop: str
) -> None:
    for _ in TRIES:
        holder = python(HOLDER, loop, server.url, name, "1")
        assert holder.stdout is not None
        token = int(holder.stdout.readline())
        holder.kill()
        holder.wait()
        async with aio.connect(server.url, poll_interval=0.2) as client:
            began = time.monotonic()
            ttl = server.command("PTTL", name)
            assert isinstance(ttl, int)
            left = ttl / 1000
            async with client.lock(name, wait=10) as held:
                waited = time.monotonic() - began
                assert held.token > token
        # Not before the key expires, and not later than a poll and slack after that.
        assert waited > left - 0.01
        if left > 0 and waited < left + 0.2 + 0.5:
            break
    else:
        pytest.fail(f"it came free after {waited} s, when {left} s were left")


@pytest.mark.parametrize("loop", LOOPS)
async def test_a_holder_stopped_past_its_lease_knows_it_at_once(
    server: RedisServer, python: Python, name: str, loop: str
) -> None:
    holder = python(HOLDER, loop, server.url, name, "1")
    assert holder.stdout is not None
    token = int(holder.stdout.readline())
    os.kill(holder.pid, signal.SIGSTOP)
    async with aio.connect(server.url) as client, client.lock(name, wait=10) as held:
        assert held.token > token
        os.kill(holder.pid, signal.SIGCONT)
        assert holder.stdout.readline() == "True False expired\n"
        assert holder.stdout.readline().strip() in ("NOT_HELD", "LOST")
        assert holder.wait(10) == 0
        assert held.valid
        assert (await client.lock(name).inspect()).holder == held.owner


async def test_a_black_hole_costs_a_timed_acquire_its_own_time_only(proxy: Proxy, name: str) -> None:
    for _ in TRIES:
        async with aio.connect(proxy.url, lease=1) as client:
            lock = client.lock(name)
            assert await lock.acquire()
            held = lock.held
            assert held is not None
            began = time.monotonic()
            proxy.black_hole()
            with pytest.raises((libdlock.ConnectionFailed, libdlock.OutcomeUnknown, libdlock.AcquireTimeout)):
                if not await client.lock(name + "-other").acquire(timeout=0.5):
                    raise libdlock.AcquireTimeout("not in time")
            refused = time.monotonic() - began
            assert await held.lost.wait(3)
            lost = time.monotonic() - began
            assert held.lost.reason == "expired"
        assert refused >= 0.45
        if refused < 0.75 and lost < 1:
            break
        proxy.passes_again()
    else:
        pytest.fail(f"refused after {refused} s, lost after {lost} s")


async def test_after_an_empty_restart_the_hold_is_lost_and_the_lock_free(
    own_server: RedisServer, name: str
) -> None:
    async with aio.connect(own_server.url, lease=1.5) as client:
        lock = client.lock(name)
        assert await lock.acquire()
        held = lock.held
        assert held is not None
        own_server.kill()
        own_server.start()
        assert await held.lost.wait(3)
        async with aio.connect(own_server.url) as other, other.lock(name, wait=2) as taken:
            assert taken.token > held.token


async def test_a_reply_lost_on_the_way_is_made_good(proxy: Proxy, server: RedisServer, name: str) -> None:
    async with aio.connect(proxy.url) as client:
        lock = client.lock(name)
        for _ in range(10):
            proxy.reset_at_reply_to(name)
            assert await lock.acquire()
            assert lock.hold_count == 1
            proxy.reset_at_reply_to(name)
            await lock.release()
            assert server.command("EXISTS", name) == 0
        assert proxy.resets == 20


async def test_script_flush_between_any_two_calls_is_no_error(server: RedisServer, name: str) -> None:
    async with aio.connect(server.url) as client:
        lock = client.lock(name)
        for _ in range(20):
            server.command("SCRIPT", "FLUSH")
            assert await lock.acquire()
            server.command("SCRIPT", "FLUSH")
            await lock.inspect()
            server.command("SCRIPT", "FLUSH")
            await lock.release()


async def test_a_subscription_killed_during_a_wait_costs_a_poll_at_most(
    own_server: RedisServer, name: str
) -> None:
    async with aio.connect(own_server.url) as holder, aio.connect(own_server.url) as waiter:

        async def wait() -> float:
            async with waiter.lock(name, wait=10):
                return time.monotonic()

        async with holder.lock(name):
            waiting = asyncio.create_task(wait())
            deadline = time.monotonic() + 5
            while not own_server.waits(name):
                assert time.monotonic() < deadline, "the waiter neither stands in the queue nor listens"
                await asyncio.sleep(0)
            own_server.command("CLIENT", "KILL", "TYPE", "pubsub")
            released = time.monotonic()
        assert await waiting - released < 1.2
    assert own_server.loses_its_listeners()
