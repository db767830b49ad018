"""Worker numbers: what is Python's own. What they do is tested by tests/scenarios in every language."""

from __future__ import annotations

import asyncio
import copy
import gc
import os
import threading

import pytest

import libdlock
import libdlock.aio
from redis_server import RedisServer


def test_a_number_is_leased_and_given_back_at_the_end_of_the_block(server: RedisServer) -> None:
    with libdlock.connect(server.url) as client:
        with client.worker("orders") as worker:
            assert (worker.number, worker.bits, worker.pool, worker.valid) == (0, 10, "orders", True)
            assert 20 < worker.remaining <= 30
            assert repr(worker) == "<libdlock.Worker 'orders' number=0>"
            assert not worker.lost.is_set()
            ids = worker.snowflake()
            first = ids.next_ids(5000)
            assert first == sorted(set(first))
            assert ids.decode(first[0]).worker == 0
        with pytest.raises(libdlock.NotHeld):
            ids.next_id()
        with pytest.raises(libdlock.NotHeld):
            worker.release()
        with client.worker("orders", lease=5) as worker:
            assert worker.snowflake("twitter").layout == libdlock.Layout.named("twitter")
            assert worker.snowflake().next_id() > first[-1]


def test_a_generator_keeps_its_number(server: RedisServer) -> None:
    with libdlock.connect(server.url) as client:
        ids = client.worker("orders", 1).snowflake()
        gc.collect()
        other = client.worker("orders", 1)
        assert other.number == 1
        ids.next_id()
        del ids
        gc.collect()
        for _ in range(1000):
            try:
                assert client.worker("orders", 1).number == 0
                break
            except libdlock.AcquireTimeout as busy:
                assert busy.retry_after is not None
        else:
            raise AssertionError("it is not given back")


def test_a_lost_number_is_told_and_makes_no_ids(server: RedisServer) -> None:
    with libdlock.connect(server.url) as client:
        worker = client.worker("orders", lease=0.3)
        ids = worker.snowflake()
        server.command("DEL", "dlock_id_pool:{orders}")
        assert worker.lost.wait(10)
        assert worker.lost.reason == "deleted"
        with pytest.raises(libdlock.LockLost):
            ids.next_id()


def test_threads_share_a_number(server: RedisServer) -> None:
    with libdlock.connect(server.url) as client, client.worker("orders") as worker:
        made: list[list[int]] = []
        threads = [
            threading.Thread(target=lambda: made.append(worker.snowflake().next_ids(5000))) for _ in range(4)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len({id for ids in made for id in ids}) == 20_000


def test_what_cannot_be_is_refused() -> None:
    with libdlock.connect("memory://") as client:
        for bits in (0, 23, -1, 2**40):
            with pytest.raises(libdlock.InvalidArgument, match='"orders"'):
                client.worker("orders", bits)
        for lease in (0.05, -1):
            with pytest.raises(libdlock.InvalidArgument, match='"orders"'):
                client.worker("orders", lease=lease)
        with pytest.raises(libdlock.InvalidName):
            client.worker("")
        worker = client.worker("orders")
        with pytest.raises(libdlock.InvalidArgument, match="at most 5"):
            worker.snowflake("js53")
        with pytest.raises(TypeError):
            copy.copy(worker)


def test_a_forked_child_makes_no_ids_of_its_parents_number(server: RedisServer) -> None:
    with libdlock.connect(server.url) as client, client.worker("orders") as worker:
        ids = worker.snowflake()
        ids.next_id()
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                ids.next_id()
                os.write(write, b"made an id")
            except libdlock.Forked:
                os.write(write, b"Forked")
            except BaseException as other:
                os.write(write, repr(other).encode())
            finally:
                os._exit(0)
        os.waitpid(child, 0)
        assert os.read(read, 1000) == b"Forked"
        os.close(read)
        os.close(write)
        ids.next_id()


def test_tasks_lease_numbers(server: RedisServer) -> None:
    async def main() -> None:
        async with libdlock.aio.connect(server.url) as client:
            async with await client.worker("orders") as worker:
                assert worker.number == 0
                ids = worker.snowflake()
                ids.next_id()
                leases = [asyncio.create_task(client.worker("orders", lease=5)) for _ in range(5)]
                workers = await asyncio.gather(*leases)
                assert sorted(other.number for other in workers) == [1, 2, 3, 4, 5]
            with pytest.raises(libdlock.NotHeld):
                ids.next_id()
            for _ in range(100):
                task = asyncio.create_task(client.worker("orders"))
                await asyncio.sleep(0)
                task.cancel()
                try:
                    # On a machine that is busy the answer may be there before the cancellation.
                    await (await task).release()
                except asyncio.CancelledError:
                    break
            assert task.cancelled()
            for _ in range(1000):
                worker = await client.worker("orders")
                if worker.number == 0:
                    break
                await worker.release()
            assert worker.number == 0, "a call that was cancelled leaves nothing leased"
            await client.close(release=True)
            assert worker.lost.reason == "closed"

    asyncio.run(main())
