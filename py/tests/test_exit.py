"""The interpreter ends whatever is under way, at once and without a crash."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import time
from pathlib import Path

import pytest

from conftest import LOOPS
from redis_server import RedisServer

# 300 daemon threads wait for a lock, for a loss, or take and free locks, while the main thread leaves.
PENDING = """
import contextlib, sys, threading, libdlock
url, name, way = sys.argv[1:]
client = libdlock.connect(url)
lock = client.lock(name)
lock.acquire()
held = lock.held
started = threading.Semaphore(0)

def work(number):
    mine = client.lock(f"{name}-{number}")
    started.release()
    with contextlib.suppress(libdlock.Closed, NameError):
        if number % 3 == 0:
            client.lock(name).acquire()
        elif number % 3 == 1:
            held.lost.wait()
        else:
            while True:
                with mine:
                    pass

for number in range(300):
    threading.Thread(target=work, args=(number,), daemon=True).start()
for _ in range(300):
    started.acquire()
if way == "exit":
    sys.exit(7)
if way == "close":
    client.close()
    sys.exit(7)
if way == "raise":
    raise SystemExit(7)
if way == "del":
    del client, lock, held
    sys.exit(7)
"""


# The same of limiters and a worker number: tokens are waited for, fetched ahead, reserved and given back, and ids are made.
PENDING_LIMITS = """
import contextlib, sys, threading, libdlock
url, name, way = sys.argv[1:]
client = libdlock.connect(url)
slow = client.rate_limiter(name, rate=1, per=3600)
slow.try_acquire()
hot = client.rate_limiter(f"{name}-hot", rate=5_000, per=1, prefetch=0.5)
log = client.rate_limiter(f"{name}-log", rate=100_000, per=1, algorithm="sliding_log")
worker = client.worker(name)
ids = worker.snowflake()
started = threading.Semaphore(0)

def work(number):
    started.release()
    # With the client, or the names at the end of the interpreter.
    with contextlib.suppress(libdlock.Closed, libdlock.LockLost, NameError):
        # Few, as these hardly ever wait, and keep others from the interpreter.
        while number < 5:
            hot.acquire()
        while number < 10:
            ids.next_ids(1_000)
        while number < 20:
            client.worker(f"{name}-{number}", lease=1).release()
        while number < 50:
            log.reserve(), log.penalty(1), log.reward(1), log.block(0), log.try_acquire_many([("a", 1), ("b", 1)])
        slow.acquire()

for number in range(300):
    threading.Thread(target=work, args=(number,), daemon=True).start()
for _ in range(300):
    started.acquire()
if way == "close":
    client.close()
if way == "del":
    del client, slow, hot, log, worker, ids
sys.exit(7)
"""

# 300 tasks do the same while the main one leaves: by itself, or out of the loop's hands.
PENDING_TASKS = """
import asyncio, os, signal, sys, uvloop
from libdlock import aio
loop, url, name, way = sys.argv[1:]

async def work(client, held, number):
    mine = client.lock(f"{name}-{number}")
    if number % 3 == 0:
        await client.lock(name).acquire()
    elif number % 3 == 1:
        await held.lost.wait()
    else:
        while True:
            async with mine:
                pass

async def main():
    global tasks, lock
    client = await aio.connect(url)
    lock = client.lock(name)
    await lock.acquire()
    tasks = [asyncio.create_task(work(client, lock.held, number)) for number in range(300)]
    for _ in range(10):
        await asyncio.sleep(0)
    if way == "close":
        await client.close()
    if way == "kill":
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(7))
        os.kill(os.getpid(), signal.SIGTERM)
    if way == "forget":
        asyncio.get_running_loop().stop()
        return
    sys.exit(7)

running = {"asyncio": asyncio, "uvloop": uvloop}[loop]
if way == "forget":
    mine = running.new_event_loop()
    mine.create_task(main())
    mine.run_forever()
    sys.exit(7)
running.run(main())
"""


def leave(url: str, name: str, way: str, program: str = PENDING, *first: str) -> float:
    command = [sys.executable, "-X", "faulthandler", "-W", "ignore", "-c", program, *first, url, name, way]
    began = time.monotonic()
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            _, err = process.communicate(timeout=20)
        except subprocess.TimeoutExpired:
            seen = stuck(process.pid)
            process.kill()
            pytest.fail(f"{way}: no end after 20 s; its threads:\n{seen}")
    assert process.returncode == 7, (way, process.returncode, err[-3000:])
    assert "Fatal" not in err, err[-3000:]
    if program is not PENDING_TASKS:  # asyncio itself tells of tasks that it had to leave
        assert "Traceback" not in err, err[-3000:]
    return time.monotonic() - began


def stuck(pid: int) -> str:
    """What the threads of a process that does not end are doing, as far as the kernel says."""
    lines = []
    for task in sorted(Path(f"/proc/{pid}/task").glob("*")):
        with contextlib.suppress(OSError):  # it may end while it is looked at
            name, state = (
                (task / "comm").read_text().strip(),
                (task / "stat").read_text().rsplit(")")[1].split()[0],
            )
            lines.append(f"{task.name} {name} {state} {(task / 'wchan').read_text()}")
    return "\n".join(lines)


WAYS = ["exit", "close", "raise", "del"]


@pytest.mark.parametrize("way", WAYS)
def test_exit_with_300_operations_pending(server: RedisServer, name: str, way: str) -> None:
    leave(server.url, name, way)


@pytest.mark.parametrize("way", ["exit", "close", "del"])
def test_exit_with_300_limiters_and_workers_pending(server: RedisServer, name: str, way: str) -> None:
    leave(server.url, name, way, PENDING_LIMITS)


TASK_WAYS = ["exit", "close", "kill", "forget"]


@pytest.mark.parametrize("way", TASK_WAYS)
@pytest.mark.parametrize("loop", LOOPS)
def test_exit_with_300_tasks_pending(server: RedisServer, name: str, loop: str, way: str) -> None:
    leave(server.url, name, way, PENDING_TASKS, loop)


# In four parts. Each name is used once, as the exit leaves a lease behind.
@pytest.mark.long
@pytest.mark.parametrize("way", TASK_WAYS)
@pytest.mark.parametrize("loop", LOOPS)
def test_exit_with_300_tasks_pending_200_times(server: RedisServer, name: str, loop: str, way: str) -> None:
    times = [leave(server.url, f"{name}-{number}", way, PENDING_TASKS, loop) for number in range(50)]
    print(f"{len(times)} exits, slowest {max(times):.2f} s")


@pytest.mark.long
@pytest.mark.parametrize("way", WAYS)
def test_exit_with_300_operations_pending_200_times(server: RedisServer, name: str, way: str) -> None:
    times = [leave(server.url, f"{name}-{number}", way) for number in range(50)]
    print(f"{len(times)} exits, slowest {max(times):.2f} s")


AT_EXIT = """
import atexit, gc, sys, libdlock
client = libdlock.connect(sys.argv[1])
lock = client.lock(sys.argv[2])

@atexit.register
def late():
    with lock:
        print("still works", flush=True)

class Late:
    def __del__(self):
        # Module teardown: whatever happens here may not crash.
        try:
            lock.acquire(timeout=1)
            client.lock("a{")
        except BaseException:
            pass

keep = Late()
"""


def test_atexit_handlers_and_finalisers_may_use_locks(server: RedisServer, name: str) -> None:
    command = [sys.executable, "-X", "faulthandler", "-W", "ignore", "-c", AT_EXIT, server.url, name]
    done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    assert (done.returncode, done.stdout) == (0, "still works\n"), done.stderr
    assert server.command("EXISTS", name) == 0


# A call that looks for signals, which those of the main thread do every 50 ms, after the interpreter has begun to end.
AT_TEARDOWN = """
import libdlock

class Late:
    def __del__(self):
        self.client.lock("stock").acquire(timeout=0.3)

late = Late()
late.client = libdlock.connect("memory://")
late.held = late.client.lock("stock").take()
late.cycle = libdlock.late = late
"""


def test_a_finaliser_at_teardown_may_wait() -> None:
    command = [sys.executable, "-W", "ignore", "-c", AT_TEARDOWN]
    done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    # What says that the lock is held needs an import, which Python refuses by then, in words of its own.
    assert done.returncode == 0
    assert "panic" not in done.stderr


# Errors are made by Python code; the interpreter may end while threads are in it.
FAILING = """
import sys, threading, libdlock
sys.setswitchinterval(1e-6)
client = libdlock.connect("memory://")
failed = threading.Semaphore(0)

def fail():
    while True:
        try:
            client.lock("a{")
        except libdlock.InvalidName:
            failed.release()

for _ in range(30):
    threading.Thread(target=fail, daemon=True).start()
for _ in range(100):
    failed.acquire()
sys.exit(7)
"""


def test_exit_while_threads_are_told_errors() -> None:
    for _ in range(10):
        leave("", "", "", FAILING)


LAST_WORDS = """
import logging, sys, libdlock
logging.basicConfig(level=logging.DEBUG, stream=sys.stdout, format="%(levelname)s %(message)s")
client = libdlock.connect(sys.argv[1], lease=0.5)
lock = client.lock(sys.argv[2])
lock.acquire()
held = lock.held
with libdlock.connect(sys.argv[1]) as thief:
    thief.lock(sys.argv[2]).force_release()
assert held.lost.wait(5)
"""


def test_what_was_logged_before_the_exit_is_delivered(server: RedisServer, name: str) -> None:
    command = [sys.executable, "-W", "ignore", "-c", LAST_WORDS, server.url, name]
    done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    assert done.returncode == 0, done.stderr
    assert "WARNING" in done.stdout
