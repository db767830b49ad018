"""Decisions that tasks ask for in one turn of their loop: the server is asked for all, and each gets its own answer."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Sequence
from typing import Literal

import pytest

import libdlock
from libdlock import aio
from libdlock.aio._port import Port, running_port
from redis_server import RedisServer

HOUR = 3600


def loop_port() -> Port:
    """The port of the running loop."""
    port = running_port()
    assert isinstance(port, Port)
    return port


def _kinds(settled: Sequence[object]) -> list[object]:
    return [
        answer.granted if isinstance(answer, libdlock.Decision) else type(answer).__name__
        for answer in settled
    ]


def _scripts(server: RedisServer) -> int:
    stats = server.command("INFO", "commandstats")
    assert isinstance(stats, bytes)
    return int(stats.split(b"cmdstat_evalsha:calls=")[1].split(b",")[0])


async def test_the_first_of_a_turn_get_what_is_there_and_the_rest_nothing(
    aio_client: aio.Client, name: str
) -> None:
    limiter = aio_client.rate_limiter(name, rate=40, per=HOUR)
    for granted in (30, 10, 0):
        decisions = await asyncio.gather(*(limiter.try_acquire() for _ in range(30)))
        assert [decision.allowed for decision in decisions] == [at < granted for at in range(30)]
        assert all(decision.limit == 40 and decision.server_time for decision in decisions)
        assert all(decision.refused_by is None for decision in decisions[:granted])
        assert all(decision.retry_after for decision in decisions[granted:])
    never = await asyncio.gather(*(limiter.try_acquire(cost) for cost in (1, 41, 2**60)))
    assert [decision.retry_after is None for decision in never] == [False, True, True]


async def test_what_is_wrong_with_one_call_is_no_matter_of_the_others(
    aio_client: aio.Client, name: str
) -> None:
    limiter = aio_client.rate_limiter(name, rate=9, per=HOUR)
    settled = await asyncio.gather(
        limiter.try_acquire(),
        limiter.try_acquire(-1),
        limiter.try_acquire(2**70),
        limiter.try_acquire(2, key="a"),
        limiter.try_acquire(1, key=""),
        limiter.try_acquire(1, key="\ud800"),
        limiter.try_acquire(9, key="a"),
        limiter.try_acquire(8),
        limiter.acquire(1, wait=0),
        limiter.peek(),
        return_exceptions=True,
    )
    number, key = "InvalidArgument", "InvalidName"
    assert _kinds(settled) == [1, number, number, 2, key, key, 0, 8, 0, 0]


async def test_calls_are_carried_out_in_their_order_whatever_they_are(
    aio_client: aio.Client, name: str
) -> None:
    limiter = aio_client.rate_limiter(name, rate=5, per=HOUR)
    await limiter.reset()  # a script that the server has not seen yet is sent twice
    await limiter.peek()
    for _ in range(3):
        asked = await asyncio.gather(
            limiter.try_acquire(5),
            limiter.try_acquire(),
            limiter.reset(),
            limiter.try_acquire(5),
            limiter.reserve(),
            limiter.try_acquire(),
        )
        assert [None if answer is None else answer.granted for answer in asked] == [5, 0, None, 5, 1, 0]
        await limiter.reset()


async def test_callers_of_one_turn_need_one_script(server: RedisServer, name: str) -> None:
    async with aio.connect(server.url) as client:
        limiter = client.rate_limiter(name, rate=10_000, per=HOUR)
        assert await limiter.try_acquire()
        loop_port()._has_company = True
        for _ in range(3):
            before = _scripts(server)
            assert all(await asyncio.gather(*(limiter.try_acquire(2) for _ in range(300))))
            assert _scripts(server) - before == 1
        # Also by objects of their own, as long as they are alike.
        before = _scripts(server)
        others = [client.rate_limiter(name, rate=10_000, per=HOUR) for _ in range(50)]
        others += [client.rate_limiter(name, rate=10_000, per=HOUR, absent="allow") for _ in range(50)]
        assert all(await asyncio.gather(*(limiter.try_acquire() for limiter in others)))
        assert _scripts(server) - before == 2
        assert await limiter.try_acquire()
        assert not loop_port()._has_company, "the next one is sent at once"


async def test_a_task_cancelled_before_its_turn_ends_spends_nothing(server: RedisServer, name: str) -> None:
    async with aio.connect(server.url) as client:
        limiter = client.rate_limiter(name, rate=20, per=HOUR)
        for left in (10, 0):
            loop_port()._has_company = True
            tasks = [asyncio.create_task(limiter.try_acquire()) for _ in range(20)]
            await asyncio.sleep(0)  # they have asked, and their turn is not over
            for task in tasks[1::2]:
                task.cancel()
            answers = await asyncio.gather(*tasks, return_exceptions=True)
            assert [isinstance(answer, asyncio.CancelledError) for answer in answers] == [False, True] * 10
            assert all(answer for answer in answers if isinstance(answer, libdlock.Decision))
            assert (await limiter.peek()).remaining == left


async def test_tasks_cancelled_after_their_turn_keep_nobody_waiting(server: RedisServer, name: str) -> None:
    async with aio.connect(server.url) as client:
        limiter = client.rate_limiter(name, rate=1000, per=HOUR)
        for given_up in (slice(0, 5), slice(0, 10), slice(0, 0)):
            loop_port()._has_company = True
            tasks = [asyncio.create_task(limiter.try_acquire()) for _ in range(10)]
            for _ in range(2):
                await asyncio.sleep(0)
            for task in tasks[given_up]:
                task.cancel()
            answers = await asyncio.gather(*tasks, return_exceptions=True)
            cancelled = len(tasks[given_up])
            assert sum(isinstance(answer, libdlock.Decision) for answer in answers) >= 10 - cancelled
        assert (await limiter.peek()).remaining >= 970


async def test_a_client_closed_in_the_same_turn_leaves_nobody_waiting(url: str, name: str) -> None:
    client = await aio.connect(url)
    limiter = client.rate_limiter(name, rate=9, per=HOUR)
    asked = [asyncio.create_task(limiter.try_acquire(key=key)) for key in (None, None, "a", None)]
    await asyncio.sleep(0)
    await client.close()
    settled = await asyncio.wait_for(asyncio.gather(*asked, return_exceptions=True), 5)
    assert set(_kinds(settled)) <= {1, "Closed"}
    settled = await asyncio.gather(*(limiter.try_acquire() for _ in range(4)), return_exceptions=True)
    assert _kinds(settled) == ["Closed"] * 4


def test_loops_of_several_threads_ask_each_for_its_own_tasks(url: str, name: str) -> None:
    granted: list[int] = []

    async def ask() -> None:
        async with aio.connect(url) as client:
            limiter = client.rate_limiter(name, rate=150, per=HOUR)
            for _ in range(4):
                answers = await asyncio.gather(*(limiter.try_acquire() for _ in range(25)))
                granted.extend(answer.granted for answer in answers)

    threads = [threading.Thread(target=lambda: asyncio.run(ask())) for _ in range(3)]
    # On memory:// they share the bucket, too, which lasts as long as there is a client.
    with libdlock.connect(url):
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert (len(granted), sum(granted)) == (300, 150)


async def test_a_child_has_nothing_to_do_with_the_calls_of_its_parent(server: RedisServer, name: str) -> None:
    async with aio.connect(server.url) as client:
        limiter = client.rate_limiter(name, rate=10, per=HOUR)
        tasks = [asyncio.create_task(limiter.try_acquire()) for _ in range(4)]
        await asyncio.sleep(0)
        child = os.fork()
        if child == 0:
            os._exit(0)
        os.waitpid(child, 0)
        assert all(await asyncio.gather(*tasks))
        assert (await limiter.peek()).remaining == 6


@pytest.mark.parametrize("absent", ["deny", "allow"])
async def test_each_is_decided_by_the_policy_while_the_server_is_away(
    own_server: RedisServer, name: str, absent: Literal["deny", "allow"]
) -> None:
    async with aio.connect(own_server.url) as client:
        limiter = client.rate_limiter(name, rate=100, per=HOUR, absent=absent)
        assert all(await asyncio.gather(*(limiter.try_acquire() for _ in range(5))))
        own_server.kill()
        answers = await asyncio.gather(*(limiter.try_acquire() for _ in range(5)))
        assert [answer.allowed for answer in answers] == [absent == "allow"] * 5
        assert all(answer.server_time is None for answer in answers)
