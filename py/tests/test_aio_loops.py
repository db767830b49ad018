"""One port for each event loop: batches, several loops, loops that come and go."""

from __future__ import annotations

import asyncio
import os
import threading

import pytest

import libdlock
from conftest import LOOPS
from libdlock import aio
from libdlock.aio import _port
from redis_server import RedisServer


async def test_answers_that_come_together_cost_one_wake_up(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    wake_ups = 0
    deliver = _port.Port._deliver

    def counted(port: _port.Port) -> None:
        nonlocal wake_ups
        wake_ups += 1
        deliver(port)

    monkeypatch.setattr(_port.Port, "_deliver", counted)
    # A port of this loop that has the counting method; the loop's own, if any, goes with its reader.
    _port._ports.pop(asyncio.get_running_loop(), None)
    async with aio.connect("memory://") as client:
        locks = [client.lock(f"{name}-{number}") for number in range(64)]
        asking = [asyncio.create_task(lock.acquire()) for lock in locks]
        await asyncio.sleep(0)  # all have asked
        await until_idle(client)
        before = wake_ups
        await asyncio.gather(*asking)
        assert wake_ups - before <= 1
    for lock in locks:
        assert lock.hold_count == 0


async def until_idle(client: aio.Client) -> None:
    """Lets the core answer everything while the loop is not looking."""
    with libdlock.connect("memory://") as other:
        for number in range(200):
            with other.lock(f"idle-{number}"):
                pass


@pytest.mark.parametrize("loop", LOOPS)
def test_several_loops_in_several_threads_share_a_client(server: RedisServer, name: str, loop: str) -> None:
    count = 0
    tokens: list[int] = []
    with libdlock.connect(server.url) as opener:
        opener.lock(name).locked()
    clients: list[aio.Client] = []

    async def work() -> None:
        nonlocal count
        lock = clients[0].lock(name)
        for _ in range(20):
            async with lock as held:
                tokens.append(held.token)
                seen = count
                await asyncio.sleep(0)
                count = seen + 1

    async def main() -> None:
        await asyncio.gather(*(work() for _ in range(5)))

    async def opened() -> None:
        clients.append(await aio.connect(server.url))

    def in_a_thread(coroutine: object) -> None:
        running = LOOPS[loop]()
        running.run_until_complete(coroutine)  # type: ignore[arg-type]
        running.close()

    in_a_thread(opened())  # that loop is gone; its client is not
    threads = [threading.Thread(target=in_a_thread, args=(main(),)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    in_a_thread(clients[0].close())
    assert count == 400
    assert tokens == sorted(set(tokens))


@pytest.mark.parametrize("loop", LOOPS)
def test_a_loop_that_is_closed_takes_its_port_along(name: str, loop: str) -> None:
    def descriptors() -> int:
        return len(os.listdir("/proc/self/fd"))

    async def main() -> None:
        async with aio.connect("memory://") as client, client.lock(name):
            pass

    def run() -> None:
        running = LOOPS[loop]()
        running.run_until_complete(main())
        running.close()

    run()
    before = descriptors()
    kept = len(_port._ports)
    for _ in range(20):
        run()
    assert descriptors() == before
    assert len(_port._ports) == kept


async def test_a_loop_has_one_port_however_many_clients(url: str) -> None:
    async with aio.connect(url), aio.connect(url):
        assert _port.running_port() is _port.running_port()


def test_without_a_loop_there_is_nothing_to_wait_in() -> None:
    async def opened() -> aio.Client:
        return await aio.connect("memory://")

    client = asyncio.run(opened())
    lock = client.lock("k")  # no I/O, no loop
    with pytest.raises(RuntimeError, match="no running event loop"):
        lock.hold_count  # noqa: B018
    asyncio.run(client.close())
