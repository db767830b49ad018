"""A panic in any native function is an `InternalError`, and the process goes on.

Needs a wheel with the feature `fault-injection`, in which the bridge panics where DLOCK_PANIC says: `run-tests.sh long`
installs one and says so by DLOCK_FAULT_INJECTION.
"""

from __future__ import annotations

import os
import re

import pytest

import libdlock
from conftest import ROOT, Python

pytestmark = pytest.mark.skipif(
    "DLOCK_FAULT_INJECTION" not in os.environ, reason="needs the fault-injection wheel"
)

# How the sources name what they export.
GUARDED = re.compile(r'\b(?:blocking|quick|release|submit|taken|guard)\((?:[\w().]+,\s*)?"([^"]+)"')

EXPORTS = sorted(
    export
    for source in (ROOT / "py" / "src").glob("*.rs")
    if source.name != "call.rs"
    for export in GUARDED.findall(source.read_text())
)

PROGRAM = """
import asyncio, os, sys, libdlock
from libdlock import _native, aio
from libdlock.testing import ManualClock
export = sys.argv[1]

def threads():
    with libdlock.connect("memory://x") as client:
        with client.lock("k") as held:
            assert held.valid and held.remaining and not held.lost.is_set() and not held.lost.wait(0.001)
            lock = client.lock("k")
            assert lock.hold_count == 1 and lock.held and lock.inspect().holder
            assert client.stats().lock.held == 1
            lock.extend(20)
            lock.attach(lock.detach())
            lock.acquire()
            lock.release()
        with lock.take() as taken:
            taken.extend(20)
        lock.attach(lock.take().detach()).release()
        lock.take().release()
        assert lock.force_release() is False
        pool = client.semaphore("p", 5)
        with pool as held:
            assert held.permits and pool.held and pool.hold_count == 1
        pool.acquire(permits=2)
        pool.extend(20)
        pool.release(2)
        with pool.take(2) as taken:
            taken.extend(20)
        pool.set_permits(6)
        assert pool.inspect().permits == 6
        rw = client.rw_lock("r")
        with rw.write as held:
            assert rw.write.held and rw.write.hold_count == 1 and rw.inspect().writer
            held.extend(20)
            held.downgrade()
        rw.read.acquire()
        rw.read.release()
        with rw.write.take() as taken:
            taken.downgrade().release()
        assert rw.force_release() is False
        several = client.lock_all(["s", "t"])
        with several as held:
            assert held.tokens and held.lost_name is None and several.held and several.hold_count == 1
            several.extend(20)
        several.acquire()
        several.release()
        several.take().release()
        latch = client.latch("l")
        assert latch.try_set_count(3) and latch.count_down() == 2 and latch.count() == 2
        assert not latch.wait(0) and latch.delete()
        ids = client.id_generator("i", block=5)
        assert ids.next_id() < ids.next_ids(3)[0] and ids.block_size == 5
        seen = client.bloom_filter("b", expected=100, false_positive_rate=0.01)
        assert seen.add(["a"]) == seen.contains(["a"]) == [True] and seen.count() == 1
        assert seen.false_positive_rate() < 1 and seen.size == 958 and seen.hashes == 7 and seen.clear()
        jobs = client.queue("q", max_attempts=1)
        jobs.purge(), jobs.dead.purge()  # as of the permits below
        assert jobs.put("a", id="a").is_new and len(jobs.put_many(["b", "c", "d"])) == 3
        assert len(jobs.peek()) == jobs.counts().ready == 4
        both = jobs.followed_by(client.queue("r"))
        with jobs.take() as delivery:
            assert delivery.valid and delivery.remaining and not delivery.lost.is_set()
            delivery.extend(20)
        both.take().nack()
        for delivery in jobs.take_many(1):
            delivery.give_back()
        assert jobs.ack_many(jobs.take_many(1)) == [True]
        assert len(jobs.dead.list()) == jobs.dead.requeue_all() == 1 and not jobs.dead.remove("x")
        assert not jobs.dead.requeue("x") and not jobs.cancel("x") and jobs.dead.purge() == 0
        with jobs.consume(lambda delivery: None, backoff=libdlock.Backoff(1, 2)):
            pass
        with client.worker("w") as worker:
            assert worker.number >= 0 and worker.bits and worker.valid and worker.snowflake().next_id()
        slots = client.counting_semaphore("c")
        slots.try_set_permits(0)  # the store, and the key in it, may have outlived the last client
        slots.add_permits(3)
        assert slots.acquire()
        slots.release()
        assert slots.inspect().available == 3 and slots.drain() == 3
        limiter = client.rate_limiter("k", rate=5, per=1)
        assert limiter.acquire() and limiter.try_acquire_many([("a", 1)])
        limiter.reset()
        assert client.rate_limiter("f", rate=5000, per=1, prefetch=0.5).try_acquire()
        assert limiter.reserve()
        limiter.penalty(1)
        limiter.reward(1)
        limiter.block(0)
    clock = ManualClock()
    with clock.connect():
        clock.advance(1)
    ids = libdlock.Snowflake(1, 1)
    assert ids.decode(ids.next_id()) and ids.next_ids(2) and ids.parse(ids.encode(5, 62), 62) == 5
    assert libdlock.Layout.named("default") == ids.layout and ids.layout.decode(5)

async def tasks():
    async with ManualClock().aio_connect():
        pass
    async with aio.connect("memory://x") as client:
        async with client.lock("k") as held:
            assert not await held.lost.wait(0.001)
            lock = client.lock("k")
            assert lock.hold_count == 1 and lock.held and (await lock.inspect()).holder
            await lock.extend(20)
            await lock.attach(await lock.detach())
            await lock.acquire()
            await lock.release()
        taken = await lock.take()
        await taken.extend(20)
        await taken.release()
        await (await lock.attach(await (await lock.take()).detach())).release()
        assert await lock.force_release() is False
        pool = client.semaphore("p", 5)
        async with pool as held:
            assert held.permits and pool.held and pool.hold_count == 1
        await pool.acquire(permits=2)
        await pool.extend(20)
        await pool.release()
        async with await pool.take(2) as taken:
            await taken.extend(20)
        await pool.set_permits(6)
        assert (await pool.inspect()).permits == 6
        rw = client.rw_lock("r")
        async with rw.write as held:
            assert (await rw.inspect()).writer
            await held.extend(20)
            await held.downgrade()
        async with await rw.write.take() as taken:
            await (await taken.downgrade()).release()
        assert await rw.force_release() is False
        several = client.lock_all(["s", "t"])
        async with several as held:
            assert held.tokens
            await several.extend(20)
        await (await several.take()).release()
        latch = client.latch("l")
        assert await latch.try_set_count(3) and await latch.count_down() == 2 and await latch.count() == 2
        assert not await latch.wait(0) and await latch.delete()
        ids = client.id_generator("i", block=5)
        assert await ids.next_id() < (await ids.next_ids(3))[0] and ids.block_size == 5
        seen = client.bloom_filter("b", expected=100, false_positive_rate=0.01)
        assert await seen.add(["a"]) == await seen.contains(["a"]) == [True] and await seen.count() == 1
        assert await seen.false_positive_rate() < 1 and seen.size and seen.hashes and await seen.clear()
        jobs = client.queue("q", max_attempts=1)
        await jobs.purge(), await jobs.dead.purge()
        assert (await jobs.put("a", id="a")).is_new and len(await jobs.put_many(["b", "c", "d"])) == 3
        assert len(await jobs.peek()) == (await jobs.counts()).ready == 4
        async with await jobs.take() as delivery:
            await delivery.extend(20)
        await (await jobs.take()).nack()
        for delivery in await jobs.take_many(1):
            await delivery.give_back()
        assert await jobs.ack_many(await jobs.take_many(1)) == [True]
        assert len(await jobs.dead.list()) == await jobs.dead.requeue_all() == 1
        assert not await jobs.dead.remove("x") and not await jobs.dead.requeue("x")
        assert not await jobs.cancel("x") and await jobs.dead.purge() == 0
        async with await client.worker("w") as worker:
            assert worker.number >= 0 and worker.bits and worker.valid and worker.snowflake().next_id()
        slots = client.counting_semaphore("c")
        await slots.try_set_permits(0)
        await slots.add_permits(3)
        assert await slots.acquire()
        await slots.release()
        assert (await slots.inspect()).available == 3 and await slots.drain() == 3
        limiter = client.rate_limiter("k", rate=5, per=1)
        assert await limiter.acquire() and await limiter.try_acquire_many([("a", 1)])
        await limiter.reset()
        assert await limiter.reserve()
        await limiter.penalty(1)
        await limiter.reward(1)
        await limiter.block(0)

threads()
asyncio.run(tasks())
port = _native.Port()
os.environ["DLOCK_PANIC"] = export
direct = {
    "Port.__new__": _native.Port,
    "Port.descriptor": lambda: port.descriptor,
    "Port.drain": port.drain,
    "Port.drain_log": lambda: port.drain_log(1),
    "Port.cancel": lambda: port.cancel(0),
    "client_abandon": lambda: _native.client_abandon(0, 0),
    "limiter_submit_each": lambda: _native.limiter_submit_each(port, 1, 0, []),
}
call = direct.get(export) or ((lambda: asyncio.run(tasks())) if export.startswith("submit_") else threads)
try:
    call()
except libdlock.InternalError as error:
    assert export in str(error), error
    del os.environ["DLOCK_PANIC"]
else:
    raise SystemExit(f"{export} did not panic")
with libdlock.connect("memory://y") as client, client.lock("k"):
    pass
async def lives():
    async with aio.connect("memory://y") as client, client.lock("k"):
        print("lives", flush=True)
asyncio.run(lives())
os._exit(0)  # what the panic left open is not the subject
"""


#: They count or set one number, and call nothing of the bridge.
NOTHING_TO_GUARD = {"thread_holder", "fresh_holder", "greenlets_seen"}


def test_the_list_is_complete() -> None:
    native = {name for name in dir(libdlock._native) if name[0].islower()}
    assert native - NOTHING_TO_GUARD <= {*EXPORTS}


@pytest.mark.parametrize("export", EXPORTS)
def test_a_panic_in_an_export_is_an_internal_error(python: Python, export: str) -> None:
    process = python(PROGRAM, export)
    out, err = process.communicate(timeout=30)
    assert (process.returncode, out) == (0, "lives\n"), err
