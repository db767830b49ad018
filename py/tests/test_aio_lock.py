"""The lock for tasks: `RLock`'s meaning, with the task as the holder."""

from __future__ import annotations

import asyncio
import time
from datetime import timedelta

import pytest

import libdlock
from conftest import TRIES
from libdlock import aio
from libdlock.aio._port import running_port


async def test_with_gives_the_hold_and_gives_it_back(aio_client: aio.Client, name: str) -> None:
    lock = aio_client.lock(name, lease=20)
    async with lock as held:
        assert 0 < held.token < 2**53
        assert held.valid
        assert 18 < held.remaining <= 20
        assert not held.lost.is_set()
        assert (lock.hold_count, await lock.locked()) == (1, True)
        assert lock.held is not None
        assert lock.held.token == held.token
    assert not held.valid
    assert lock.held is None
    assert not await lock.locked()


async def test_a_task_may_come_in_again_and_no_other(aio_client: aio.Client, name: str) -> None:
    lock = aio_client.lock(name)
    assert await lock.acquire()
    assert await lock.acquire()
    assert lock.hold_count == 2

    async def other_task() -> None:
        assert lock.hold_count == 0
        assert not await lock.acquire(blocking=False)
        with pytest.raises(libdlock.NotHeld):
            await lock.release()

    await asyncio.create_task(other_task())
    await lock.release()
    assert await lock.locked()
    await lock.release()
    with pytest.raises(libdlock.NotHeld):
        await lock.release()


async def test_re_entry_ten_thousand_levels_deep(aio_client: aio.Client, name: str) -> None:
    lock = aio_client.lock(name)
    for _ in range(10_000):
        await lock.acquire()
    assert lock.hold_count == 10_000
    for _ in range(10_000):
        await lock.release()
    assert not await lock.locked()


async def test_no_second_level_where_the_lock_is_not_reentrant(aio_client: aio.Client, name: str) -> None:
    lock = aio_client.lock(name, reentrant=False)
    async with lock:
        for again in (lock.acquire, lock.__aenter__):
            with pytest.raises(libdlock.Deadlock):
                await again()
    async with lock:
        pass


async def test_busy_is_false_from_acquire_and_an_exception_from_with(
    aio_client: aio.Client, aio_other: aio.Client, name: str
) -> None:
    async with aio_client.lock(name):
        assert await aio_other.lock(name).acquire(blocking=False) is False
        assert await aio_other.lock(name).acquire(timeout=0.05) is False
        assert await aio_other.lock(name).acquire(timeout=timedelta(milliseconds=50)) is False
        for wait in (0, 0.05):
            with pytest.raises(TimeoutError) as caught:
                async with aio_other.lock(name, wait=wait):
                    pass
            assert isinstance(caught.value, libdlock.AcquireTimeout)
            assert (caught.value.kind, caught.value.name) == ("BUSY", name)
    async with aio_other.lock(name, wait=0):
        pass


async def test_a_wait_ends_with_the_release(aio_client: aio.Client, aio_other: aio.Client, name: str) -> None:
    async def wait() -> int:
        async with aio_other.lock(name, wait=10) as held:
            return held.token

    async with aio_client.lock(name) as held:
        waiting = asyncio.create_task(wait())
        done, _ = await asyncio.wait([waiting], timeout=0.1)
        assert not done
    assert await waiting > held.token


async def test_a_counter_guarded_by_the_lock_ends_exact(
    aio_client: aio.Client, aio_other: aio.Client, name: str
) -> None:
    count = 0
    tokens: list[int] = []

    async def work(mine: aio.Client) -> None:
        nonlocal count
        lock = mine.lock(name)
        for _ in range(50):
            async with lock as held:
                tokens.append(held.token)
                seen = count
                await asyncio.sleep(0)
                count = seen + 1

    await asyncio.gather(*(work(mine) for mine in (aio_client, aio_other) for _ in range(8)))
    assert count == 800
    assert tokens == sorted(set(tokens))


async def test_threads_and_tasks_wait_for_one_another(
    client: libdlock.Client, aio_client: aio.Client, name: str
) -> None:
    def in_a_thread() -> int:
        with client.lock(name, wait=10) as held:
            return held.token

    async with aio_client.lock(name) as held:
        assert not client.lock(name).acquire(blocking=False)
        thread = asyncio.create_task(asyncio.to_thread(in_a_thread))
    assert await thread > held.token


async def test_extend(aio_client: aio.Client, name: str) -> None:
    lock = aio_client.lock(name, lease=2)
    async with lock as held:
        await held.extend(30)
        assert 28 < held.remaining <= 30
        await lock.extend(timedelta(seconds=60))
        assert 57 < held.remaining <= 60
    with pytest.raises(libdlock.NotHeld):
        await lock.extend(5)


async def test_a_hold_goes_to_another_task_and_client_on_purpose(
    aio_client: aio.Client, aio_other: aio.Client, name: str
) -> None:
    lock = aio_client.lock(name)
    async with lock as held:
        text = await lock.detach()
        assert lock.hold_count == 0
        taken = await asyncio.create_task(take_over(aio_other.lock(name), text))
        assert taken == held.token
        assert await lock.acquire()  # for the release at the end of the block


async def take_over(lock: aio.Lock, text: str) -> int:
    held = await lock.attach(text)
    await held.release()
    return held.token


async def test_a_given_lease_runs_out(aio_client: aio.Client, aio_other: aio.Client, name: str) -> None:
    lock = aio_client.lock(name, lease=0.3)
    for _ in TRIES:
        assert await lock.acquire()
        held = lock.held
        assert held is not None
        began = time.monotonic()
        early = await held.lost.wait(0.01)
        waiting = [asyncio.create_task(held.lost.wait()) for _ in range(3)]
        assert await asyncio.gather(*waiting) == [True] * 3
        took = time.monotonic() - began
        assert held.lost.reason == "expired"
        if not early and took < 0.3:
            break
        with pytest.raises(libdlock.DlockError):
            await lock.release()
    else:
        pytest.fail(f"lost after {took} s, before 10 ms were over: {early}")
    async with aio_other.lock(name, wait=5) as taken:
        assert taken.token > held.token
        with pytest.raises(libdlock.DlockError):
            await lock.release()
        assert taken.valid


async def test_a_body_that_fails_keeps_its_exception(
    aio_client: aio.Client, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    with pytest.raises(KeyError, match="mine"):
        async with aio_client.lock(name):
            raise KeyError("mine")
    assert not await aio_client.lock(name).locked()
    with pytest.raises(KeyError, match="mine"):
        async with aio_client.lock(name, lease=0.1) as held:
            await after(held)
            raise KeyError("mine")
    assert "failed too" in caplog.text
    with pytest.raises((libdlock.LockLost, libdlock.NotHeld)):
        async with aio_client.lock(name, lease=0.1) as held:
            await after(held)


async def after(held: aio.Held) -> None:
    """Until a release would be too late."""
    assert await held.lost.wait(5)
    while held.valid:
        await asyncio.sleep(0)


async def test_synchronized(aio_client: aio.Client, aio_other: aio.Client, name: str) -> None:
    @aio_client.synchronized(name, lease=10, wait=1)
    async def add(left: int, *, right: int = 1) -> int:
        """Adds."""
        assert aio_client.lock(name).hold_count == 1
        assert not await aio_other.lock(name).acquire(blocking=False)
        return left + right

    assert await add(2, right=3) == 5
    assert (add.__name__, add.__doc__) == ("add", "Adds.")
    assert not await aio_client.lock(name).locked()

    @aio_client.synchronized(name, wait=0)
    async def run() -> None: ...

    async with aio_other.lock(name):
        with pytest.raises(libdlock.AcquireTimeout):
            await run()


async def test_the_name_of_synchronized_may_have_parameters(
    aio_client: aio.Client, aio_other: aio.Client, name: str
) -> None:
    @aio_client.synchronized(f"{name}:{{order_id}}", wait=0)
    async def pay(order_id: int) -> list[bool]:
        return [await aio_other.lock(f"{name}:{each}").locked() for each in (1, 2)]

    assert [await pay(1), await pay(order_id=2)] == [[True, False], [False, True]]
    async with aio_other.lock(f"{name}:1"):
        with pytest.raises(libdlock.AcquireTimeout):
            await pay(1)
        assert await pay(2) == [True, True]
    with pytest.raises(
        TypeError, match="the name names a parameter 'oder_id' that the function does not have"
    ):

        @aio_client.synchronized("{oder_id}")
        async def unpaid(order_id: int) -> None: ...


def test_synchronized_refuses_what_is_no_coroutine_function() -> None:
    async def main() -> None:
        async with aio.connect("memory://") as client:
            for function in (lambda: None, agenerator):
                with pytest.raises(TypeError):
                    client.synchronized("k")(function)  # type: ignore[arg-type]

    async def agenerator():  # type: ignore[no-untyped-def]
        yield 1

    asyncio.run(main())


async def test_without_a_task_there_is_no_holder(aio_client: aio.Client, name: str) -> None:
    lock = aio_client.lock(name)
    seen: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    def called_by_the_loop() -> None:
        try:
            _ = lock.hold_count
        except RuntimeError as error:
            seen.set_result(str(error))

    asyncio.get_running_loop().call_soon(called_by_the_loop)
    assert "no task" in await seen


async def test_a_hand_over_within_the_loop_needs_no_word_from_outside(url: str, name: str) -> None:
    """A release that hands the lock to a task of the same loop is over at once, and that task is ready then: nothing has to
    come by the descriptor."""
    loop, port = asyncio.get_running_loop(), running_port()
    descriptor = port._native.descriptor
    ready: list[int] = []
    # However slow the machine, the hold may be handed on.
    async with aio.connect(url, cohort_age=7) as client:
        lock = client.lock(name)

        async def take(number: int) -> None:
            async with lock:
                if number == 0:
                    loop.remove_reader(descriptor)
                ready.append(number)

        # By way of the server, for the first hold has no tokens for others.
        async with lock:
            tasks = [asyncio.create_task(take(number)) for number in range(3)]
            await asyncio.sleep(0)  # they have asked
        while not ready:
            await asyncio.sleep(0)
        for _ in tasks:
            await asyncio.sleep(0)
        assert ready == [0, 1, 2]
        loop.add_reader(descriptor, port._deliver)
        await asyncio.gather(*tasks)
