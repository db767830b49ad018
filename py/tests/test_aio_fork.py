"""A fork while an asyncio loop runs. The child neither holds nor releases nor hangs.

The child starts a loop of its own, as asyncio asks. It ends by `os._exit`, as multiprocessing's do: to unwind through its
parent's running loop would close that, and with it watchers in the epoll set that the two share.
"""

from __future__ import annotations

import pytest

from conftest import LOOPS, Python, ended
from redis_server import RedisServer

HEAD = """
import asyncio, gc, multiprocessing, os, signal, sys, traceback, uvloop, warnings
import libdlock
from libdlock import aio
loop, url, name = sys.argv[1:]
run = {"asyncio": asyncio, "uvloop": uvloop}[loop].run
warnings.simplefilter("ignore", DeprecationWarning)

def in_child(function):
    pid = os.fork()
    if pid == 0:
        signal.alarm(50)
        code = 1
        try:
            function()
            code = 0
        except BaseException:
            traceback.print_exc()
        os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])

async def refused(call):
    try:
        made = call()
        if asyncio.iscoroutine(made):
            await made
    except libdlock.Forked:
        return
    raise AssertionError(f"{call} did not raise Forked")

"""


def check(python: Python, program: str, *arguments: str) -> None:
    assert ended(python(HEAD + program, *arguments)).splitlines()[-1] == "done"


OLD_AND_NEW = """
async def child():
    for call in (lock.acquire, lock.release, lock.inspect, lock.locked, lock.force_release, lock.detach,
                 lambda: lock.extend(5), lambda: lock.hold_count, lambda: lock.held, lambda: client.lock("x"),
                 client.close, lock.__aenter__, lambda: lock.__aexit__(None, None, None),
                 lambda: held.valid, lambda: held.remaining, held.lost.is_set, held.lost.wait):
        await refused(call)
    assert held.token > 0 and held.owner
    async with aio.connect(url) as mine:
        assert mine.lock(name).hold_count == 0
        assert not await mine.lock(name).acquire(blocking=False)
        async with mine.lock(name + "-child", wait=5) as own:
            assert own.valid

async def main():
    global client, lock, held
    client = await aio.connect(url, lease=3)
    lock = client.lock(name)
    busy = asyncio.create_task(pairs(client))
    async with lock as held:
        for _ in range(3):
            assert in_child(lambda: run(child())) == 0
            assert held.valid and await lock.locked() and lock.hold_count == 1
        # Renewal, and what waits for an answer, go on as if nothing had been.
        assert not await held.lost.wait(4)
        assert held.valid and not busy.done()
    busy.cancel()
    await asyncio.wait([busy])
    await client.close()
    print("done")

async def pairs(client):
    while True:
        async with client.lock(name + "-busy"):
            pass

run(main())
"""


@pytest.mark.parametrize("loop", LOOPS)
def test_old_objects_are_refused_and_new_ones_work(
    server: RedisServer, python: Python, name: str, loop: str
) -> None:
    check(python, OLD_AND_NEW, loop, server.url, name)


LEAVING = """
def forget():
    global client, lock, held, waiting
    del client, lock, held, waiting
    gc.collect()
    # Nothing was touched: not even a runtime was started to look the handles up.
    assert len(os.listdir("/proc/self/task")) == 1

async def main():
    global client, lock, held, waiting
    client = await aio.connect(url)
    lock = client.lock(name)
    async with lock as held:
        waiting = asyncio.create_task(other_waits(client))
        await asyncio.sleep(0.05)  # it waits, and nothing tells from outside that it does
        token = held.token
        assert in_child(forget) == 0
        assert in_child(lambda: os.execv("/bin/true", ["true"])) == 0
        assert held.valid and await lock.locked() and lock.held.token == token
        assert not waiting.done()
    await waiting
    await client.close()
    print("done")

async def other_waits(client):
    async with client.lock(name):
        pass

run(main())
"""


@pytest.mark.parametrize("loop", LOOPS)
def test_a_child_never_releases_however_it_ends(
    server: RedisServer, python: Python, name: str, loop: str
) -> None:
    check(python, LEAVING, loop, server.url, name)


POOL = """
def work(_):
    async def locked():
        async with aio.connect(url) as mine, mine.lock(name + "-pool", wait=20) as held:
            return held.token
    return run(locked())

async def main():
    async with aio.connect(url) as client, client.lock(name) as held:
        with multiprocessing.get_context("fork").Pool(3) as pool:
            tokens = await asyncio.to_thread(pool.map, work, range(12))
        assert len(set(tokens)) == 12
        assert held.valid and await client.lock(name).locked()
    print("done")

run(main())
"""


@pytest.mark.parametrize("loop", LOOPS)
def test_a_pool_of_forked_workers(server: RedisServer, python: Python, name: str, loop: str) -> None:
    check(python, POOL, loop, server.url, name)


SAME_LOOP = """
# uvloop notices a fork and lets the child go on with the loop it was born in; asyncio's loop shares its epoll set.
running = uvloop.new_event_loop()

async def pair(client):
    async with client.lock(name, wait=5) as held:
        return held.token

async def whole():
    async with aio.connect(url) as client:
        return await pair(client)

client = running.run_until_complete(aio.connect(url)._open())
first = running.run_until_complete(pair(client))
assert in_child(lambda: running.run_until_complete(whole())) == 0
assert running.run_until_complete(pair(client)) > first
running.run_until_complete(client.close())
running.close()
print("done")
"""


def test_a_child_may_go_on_with_uvloop_s_loop(server: RedisServer, python: Python, name: str) -> None:
    check(python, SAME_LOOP, "uvloop", server.url, name)
