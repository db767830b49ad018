"""A fork in C, as uWSGI's workers are made: Python calls none of the functions that wait for a fork.

The parent has a client at module level. The child ends as a program does, with Python's handlers of exits.
"""

from __future__ import annotations

import pytest

from conftest import LOOPS, Python, ended

HEAD = """
import asyncio, ctypes, logging, os, signal, sys, threading, time, traceback, uvloop
import libdlock
from libdlock import aio
url, name, loop = sys.argv[1:]
run = {"asyncio": asyncio, "uvloop": uvloop}[loop].run

def in_child(function):
    pid = ctypes.PyDLL(None).fork()
    if pid == 0:
        signal.alarm(20)
        try:
            function()
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        sys.exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0

def is_logging():
    return [thread.is_alive() for thread in threading.enumerate() if thread.name == "libdlock-log"] == [True]

def refused(call):
    try:
        call()
    except libdlock.Forked:
        return
    raise AssertionError(f"{call} did not raise Forked")

"""

THREADS = """
client = libdlock.connect(url)
lock = client.lock(name)
held = lock.take()

def child():
    refused(lambda: client.lock(name))
    refused(lock.acquire)
    refused(held.release)
    records = []
    handler = logging.Handler()
    handler.emit = records.append
    logging.getLogger("libdlock").addHandler(handler)
    with libdlock.connect(url) as mine, mine.lock(name + "-child", wait=5):
        first = mine.rate_limiter(name, rate=1, per=1)
        second = mine.rate_limiter(name, rate=2, per=1)
    while not records:
        time.sleep(0.01)

in_child(child)
in_child(lambda: None)  # it connects nowhere
assert is_logging(), "a child ended its parent's thread"
assert held.valid
held.release()
client.close()
print("done")
"""


def test_a_child_connects_and_its_parent_goes_on(python: Python, url: str, name: str) -> None:
    assert ended(python(HEAD + THREADS, url, name, "asyncio")) == "done\n"


TASKS = """
async def use():
    async with aio.connect(url) as client, client.lock(name, wait=5):
        pass

client = libdlock.connect(url)
run(use())
in_child(lambda: run(use()))
run(use())
assert is_logging(), "a child ended its parent's thread"
client.close()
print("done")
"""


@pytest.mark.parametrize("loop", LOOPS)
def test_a_child_runs_a_loop_of_its_own(python: Python, url: str, name: str, loop: str) -> None:
    assert ended(python(HEAD + TASKS, url, name, loop)) == "done\n"


SAME_LOOP = """
loop = uvloop.new_event_loop()
asyncio.set_event_loop(loop)

async def use():
    async with aio.connect(url) as client, client.lock(name, wait=5):
        pass

loop.run_until_complete(use())
in_child(lambda: loop.run_until_complete(use()))
loop.run_until_complete(use())
print("done", flush=True)
"""


def test_a_child_goes_on_with_its_parents_loop(python: Python, url: str, name: str) -> None:
    assert ended(python(HEAD + SAME_LOOP, url, name, "uvloop")) == "done\n"
