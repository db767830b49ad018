"""Ctrl-C breaks every wait within 100 ms and leaves nothing behind."""

from __future__ import annotations

import signal

import pytest

from conftest import Python, breaks_within_100_ms, ended
from redis_server import RedisServer

# Prints "waiting" once it is about to wait, and the monotonic time (one clock for the whole machine) at which it was
# interrupted. The lock is held by another client of the same process.
WAITING = """
import sys, time, libdlock
url, name, way = sys.argv[1:]
with libdlock.connect(url) as holder, libdlock.connect(url) as client:
    with holder.lock(name) as held:
        lock = client.lock(name)
        ways = {
            "acquire": lock.acquire,
            "timed": lambda: lock.acquire(timeout=60),
            "with": lock.__enter__,
            "lost": held.lost.wait,
        }
        try:
            print("waiting", flush=True)
            ways[way]()
        except KeyboardInterrupt:
            print(time.monotonic(), flush=True)
        assert lock.hold_count == 0
        assert held.valid
    with lock:
        pass
print("nothing left")
"""


@pytest.mark.parametrize("way", ["acquire", "timed", "with", "lost"])
@pytest.mark.parametrize("backend", ["redis", "memory"])
def test_ctrl_c_breaks_a_wait_within_100_ms(
    server: RedisServer, python: Python, name: str, way: str, backend: str
) -> None:
    url = server.url if backend == "redis" else "memory://x"
    assert breaks_within_100_ms(python, WAITING, url, name, way) == "nothing left\n"
    assert server.command("EXISTS", name) == 0


# A timer interrupts lock and unlock at every point that it can hit. Whatever it hits, no hold may stay behind.
STORM = """
import signal, sys, time, libdlock
url, name, seconds = sys.argv[1], sys.argv[2], float(sys.argv[3])

class Ring(Exception): ...

def ring(*_):
    raise Ring

rings = passes = 0
with libdlock.connect(url) as client, libdlock.connect(url) as other:
    lock, check = client.lock(name), other.lock(name, wait=10)
    signal.signal(signal.SIGALRM, ring)
    end = time.monotonic() + seconds
    gap = 0
    longest = 1500
    # On a busy machine until both were seen, with longer gaps while few passes come to their end.
    while time.monotonic() < end or min(rings, passes) <= 100 and time.monotonic() < end + 30:
        gap = gap % int(longest) + longest // 200
        try:
            signal.setitimer(signal.ITIMER_REAL, gap / 1e6)
            while True:
                with lock:
                    passes += 1
        except Ring:
            rings += 1
            if passes < rings:
                longest *= 1.02
        signal.setitimer(signal.ITIMER_REAL, 0)
        assert lock.hold_count == 0, f"left behind after {rings} rings"
    with check:
        pass
assert rings > 100 and passes > 100, (rings, passes)
print(rings, passes)
"""


@pytest.mark.parametrize("backend", ["redis", "memory"])
def test_an_interrupt_at_any_point_leaves_no_hold(
    server: RedisServer, python: Python, name: str, backend: str
) -> None:
    process = python(STORM, server.url if backend == "redis" else "memory://x", name, "3")
    print("interrupts, passes:", ended(process))


HANDLED = """
import signal, sys, threading, libdlock
seen = []
signal.signal(signal.SIGUSR1, lambda *_: seen.append(1))
with libdlock.connect(sys.argv[1]) as holder, libdlock.connect(sys.argv[1]) as client:
    assert holder.lock(sys.argv[2]).acquire()
    print("waiting", flush=True)
    assert client.lock(sys.argv[2]).acquire(timeout=1) is False
    assert seen == [1]
    # Python's signals are the main thread's alone: a wait elsewhere goes on.
    result = []
    thread = threading.Thread(target=lambda: result.append(client.lock(sys.argv[2]).acquire(timeout=0.5)))
    thread.start()
    signal.raise_signal(signal.SIGUSR1)
    thread.join()
    assert (result, seen) == ([False], [1, 1])
"""


def test_a_handler_that_does_not_raise_runs_and_the_wait_goes_on(
    server: RedisServer, python: Python, name: str
) -> None:
    process = python(HANDLED, server.url, name)
    assert process.stdout is not None
    assert process.stdout.readline() == "waiting\n"
    process.send_signal(signal.SIGUSR1)
    ended(process)


CALLING = """
import signal, sys, libdlock
url, name = sys.argv[1:]
holder, client = libdlock.connect(url), libdlock.connect(url)
mine, theirs = holder.lock(name), client.lock(name)
mine.acquire()

def hand_over(*_):
    assert mine.locked() and mine.held.valid
    mine.release()

signal.signal(signal.SIGALRM, hand_over)
signal.setitimer(signal.ITIMER_REAL, 0.2)
with theirs:
    # A program that is told to end closes its client, from the handler, in the middle of a wait.
    signal.signal(signal.SIGALRM, lambda *_: holder.close())
    signal.setitimer(signal.ITIMER_REAL, 0.2)
    try:
        mine.acquire()
    except libdlock.Closed:
        print("closed")
client.close()
"""


def test_a_handler_may_use_the_library_in_the_middle_of_a_wait(
    server: RedisServer, python: Python, name: str
) -> None:
    assert ended(python(CALLING, server.url, name)) == "closed\n"


def test_ctrl_c_breaks_a_connect(python: Python) -> None:
    program = """
import socket, sys, time, libdlock
with socket.create_server(("127.0.0.1", 0)) as silent:
    try:
        print("waiting", flush=True)
        libdlock.connect(f"redis://127.0.0.1:{silent.getsockname()[1]}", connect_timeout=30)
    except KeyboardInterrupt:
        print(time.monotonic(), flush=True)
"""
    breaks_within_100_ms(python, program)
