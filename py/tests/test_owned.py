"""`Lock.take`: a hold that belongs to its object, whatever thread or task ends it."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import queue
import signal
import sys
import threading
import time
import warnings
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Literal

import pytest

import libdlock
from conftest import Python, ended
from libdlock import aio
from redis_server import RedisServer


def test_another_thread_releases_what_was_taken(client: libdlock.Client, name: str) -> None:
    lock = client.lock(name)
    held = lock.take(wait=5)
    assert held.valid and held.token and ":" in held.owner and held.remaining > 0
    assert lock.hold_count == 0 and lock.held is None, "no thread holds it"
    with ThreadPoolExecutor(1) as pool:
        pool.submit(held.extend, 60).result(10)
        assert held.remaining > 50
        pool.submit(held.release).result(10)
    assert not held.valid and not lock.locked()
    with pytest.raises(libdlock.NotHeld):
        held.release()


def test_a_taken_hold_keeps_its_own_thread_out(client: libdlock.Client, name: str) -> None:
    lock = client.lock(name, wait=0.05)
    with lock.take() as held:
        assert not lock.acquire(blocking=False)
        with pytest.raises(libdlock.AcquireTimeout):
            lock.take()
        with pytest.raises(libdlock.AcquireTimeout):
            lock.take(wait=0)
        with pytest.raises(libdlock.NotHeld):
            lock.release()
        assert held.valid
    assert lock.acquire(blocking=False)
    lock.release()


def test_a_yield_dependency_that_ends_on_another_thread(client: libdlock.Client, name: str) -> None:
    """As FastAPI runs a synchronous `yield` dependency: each half on whichever thread of the pool is free."""
    tokens: list[int] = []
    same_thread: list[bool] = []

    def dependency() -> Iterator[libdlock.OwnedHold]:
        began = threading.get_ident()
        with client.lock(name, wait=30).take() as held:
            yield held
        same_thread.append(threading.get_ident() == began)

    async def request(entering: ThreadPoolExecutor, leaving: ThreadPoolExecutor) -> None:
        loop = asyncio.get_running_loop()
        scope = contextlib.contextmanager(dependency)()
        held = await loop.run_in_executor(entering, scope.__enter__)
        assert held.valid
        tokens.append(held.token)
        await loop.run_in_executor(leaving, scope.__exit__, None, None, None)

    async def requests() -> None:
        with ThreadPoolExecutor(12) as entering, ThreadPoolExecutor(1) as leaving:
            await asyncio.gather(*(request(entering, leaving) for _ in range(12)))

    asyncio.run(requests())
    assert tokens == sorted(set(tokens))
    assert same_thread == [False] * 12


def test_a_pool_hands_holds_from_thread_to_thread(
    client: libdlock.Client, other: libdlock.Client, name: str
) -> None:
    jobs: queue.Queue[libdlock.OwnedHold] = queue.Queue()
    for number in range(4):
        jobs.put(client.lock(f"{name}-{number}").take(wait=5))

    def work() -> None:
        with jobs.get(timeout=10) as held:
            assert held.valid

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert not any(other.lock(f"{name}-{number}").locked() for number in range(4))


def test_a_hold_outlives_the_thread_that_took_it(url: str, name: str) -> None:
    with libdlock.connect(url, lease=0.6) as client:
        with ThreadPoolExecutor(1) as pool:
            held = pool.submit(client.lock(name).take).result(10)
        assert not held.lost.wait(1.5), "renewed although its thread has ended"
        held.release()


def test_the_scope_of_a_hold_that_was_ended_in_it(client: libdlock.Client, name: str) -> None:
    lock = client.lock(name)
    with lock.take() as held:
        held.release()
    with lock.take() as held:
        text = held.detach()
    lock.attach(text).release()
    with pytest.raises(libdlock.NotHeld), lock.take() as held:
        lock.force_release()
    with pytest.raises(KeyError), lock.take() as held:  # the body's exception is the one to see
        lock.force_release()
        raise KeyError


def test_a_lost_hold_says_so_and_never_releases_its_successor(
    client: libdlock.Client, other: libdlock.Client, name: str
) -> None:
    held = client.lock(name, lease=0.2).take()
    assert held.lost.wait(5) and held.lost.reason == "expired"
    with other.lock(name, wait=5) as taken:
        with pytest.raises(libdlock.NotHeld):
            held.release()
        with pytest.raises(libdlock.NotHeld):
            held.extend(5)
        assert taken.valid and other.lock(name).locked()


def test_one_collected_while_held_warns_and_runs_out(url: str, name: str) -> None:
    with libdlock.connect(url, lease=0.6) as client, libdlock.connect(url) as other:
        with pytest.warns(
            ResourceWarning, match=f"<libdlock.OwnedHold '{name}' token=.*collected while held"
        ):
            client.lock(name).take()
            gc.collect()
        began = time.monotonic()
        with other.lock(name, wait=5):
            assert time.monotonic() - began < 2


STORM = """
import signal, sys, time, libdlock
url, name = sys.argv[1:]

class Ring(Exception): ...

def ring(*_):
    raise Ring

rings = passes = gap = 0
with libdlock.connect(url) as client:
    lock = client.lock(name)
    signal.signal(signal.SIGALRM, ring)
    end = time.monotonic() + 3
    longest = 1500
    # On a busy machine until both were seen, with longer gaps while few passes come to their end.
    while time.monotonic() < end or min(rings, passes) <= 100 and time.monotonic() < end + 30:
        gap = gap % int(longest) + longest // 200
        try:
            signal.setitimer(signal.ITIMER_REAL, gap / 1e6)
            while True:
                with lock.take(wait=5):
                    passes += 1
        except Ring:
            rings += 1
            if passes < rings:
                longest *= 1.02
        signal.setitimer(signal.ITIMER_REAL, 0)
    lock.take(wait=5).release()
assert rings > 100 and passes > 100, (rings, passes)
"""


def test_an_interrupt_at_any_point_leaves_no_taken_hold(
    server: RedisServer, python: Python, name: str
) -> None:
    """A hold that an interrupt left behind would keep the loop out for good, for the watchdog renews it."""
    process = python("import warnings; warnings.simplefilter('error')\n" + STORM, server.url, name)
    ended(process)


def test_ctrl_c_breaks_a_take(server: RedisServer, python: Python, name: str) -> None:
    program = """
import sys, libdlock
with libdlock.connect(sys.argv[1]) as client:
    try:
        print("waiting", flush=True)
        client.lock(sys.argv[2]).take()
    except KeyboardInterrupt:
        print("broken")
"""
    with libdlock.connect(server.url) as client, client.lock(name):
        process = python(program, server.url, name)
        assert process.stdout is not None and process.stdout.readline() == "waiting\n"
        process.send_signal(signal.SIGINT)
        assert ended(process) == "broken\n"


async def test_another_task_releases_what_was_taken(aio_client: aio.Client, name: str) -> None:
    lock = aio_client.lock(name, wait=5)
    held = await asyncio.create_task(lock.take())
    assert held.valid and lock.hold_count == 0
    with pytest.raises(libdlock.AcquireTimeout):
        await lock.take(wait=0)
    await asyncio.create_task(held.extend(60))
    assert held.remaining > 50
    await asyncio.create_task(held.release())
    assert not await lock.locked()
    with pytest.raises(libdlock.NotHeld):
        await held.release()
    async with await lock.take() as held:
        text = await held.detach()
    await (await lock.attach(text)).release()
    with pytest.raises(libdlock.NotHeld):
        async with await lock.take():
            await lock.force_release()


async def test_a_cancelled_take_leaves_nothing(
    aio_client: aio.Client, aio_other: aio.Client, name: str
) -> None:
    async with aio_other.lock(name):
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(aio_client.lock(name).take(), 0.05)
    async with aio_client.lock(name, wait=5):
        pass


@pytest.mark.parametrize("action", ["always", "error"])
async def test_a_task_s_hold_runs_out_while_warnings_are_kept(
    aio_client: aio.Client,
    aio_other: aio.Client,
    name: str,
    monkeypatch: pytest.MonkeyPatch,
    action: Literal["always", "error"],
) -> None:
    unraisable: list[object] = []
    monkeypatch.setattr(sys, "unraisablehook", unraisable.append)
    with warnings.catch_warnings(record=True) as kept:
        warnings.simplefilter(action, ResourceWarning)
        await aio_client.lock(name, watchdog_lease=0.5).take()
        gc.collect()
        async with aio_other.lock(name, wait=20):
            pass
    assert (len(kept), len(unraisable)) == ((1, 0) if action == "always" else (0, 1))


async def test_a_task_s_taken_hold_that_is_collected_warns(aio_client: aio.Client, name: str) -> None:
    with pytest.warns(
        ResourceWarning, match=f"<libdlock.aio.OwnedHold '{name}' token=.*collected while held"
    ):
        await aio_client.lock(name).take()
        gc.collect()
