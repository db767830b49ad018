"""Faults that a Python program meets: dead holders, stopped ones, dead connections, restarted servers.

tests/faults/README.md lists all of them, with the tests that have a checker; this file has what the Python layer adds.
"""

from __future__ import annotations

import os
import signal
import threading
import time

import pytest

import libdlock
from conftest import TRIES, Python
from proxy import Proxy
from redis_server import RedisServer

HOLDER = """
import sys, libdlock
url, name, lease = sys.argv[1:]
client = libdlock.connect(url, lease=float(lease))
lock = client.lock(name)
lock.acquire()
held = lock.held
print(held.token, flush=True)
print(held.lost.wait(30), held.valid, held.lost.reason, flush=True)
try:
    lock.release()
except libdlock.DlockError as error:
    print(error.kind, flush=True)
client.close()
"""


def test_a_killed_holder_s_lock_comes_free_with_its_lease(
    server: RedisServer, python: Python, name: str
) -> None:
    for _ in TRIES:
        holder = python(HOLDER, server.url, name, "1")
        assert holder.stdout is not None
        token = int(holder.stdout.readline())
        holder.kill()
        holder.wait()
        with libdlock.connect(server.url, poll_interval=0.2) as client:
            began = time.monotonic()
            ttl = server.command("PTTL", name)
            assert isinstance(ttl, int)
            left = ttl / 1000
            with client.lock(name, wait=10) as held:
                waited = time.monotonic() - began
                assert held.token > token
        # Not before the key expires, and not later than a poll and slack after that.
        assert waited > left - 0.01
        if left > 0 and waited < left + 0.2 + 0.5:
            break
    else:
        pytest.fail(f"it came free after {waited} s, when {left} s were left")


def test_a_holder_stopped_past_its_lease_knows_it_at_once(
    server: RedisServer, python: Python, name: str
) -> None:
    holder = python(HOLDER, server.url, name, "1")
    assert holder.stdout is not None
    token = int(holder.stdout.readline())
    os.kill(holder.pid, signal.SIGSTOP)
    with libdlock.connect(server.url) as client, client.lock(name, wait=10) as held:
        assert held.token > token
        os.kill(holder.pid, signal.SIGCONT)
        assert holder.stdout.readline() == "True False expired\n"
        assert holder.stdout.readline().strip() in ("NOT_HELD", "LOST")
        assert holder.wait(10) == 0
        assert held.valid
        assert client.lock(name).inspect().holder == held.owner


def test_a_black_hole_costs_a_timed_acquire_its_own_time_only(proxy: Proxy, name: str) -> None:
    for _ in TRIES:
        with libdlock.connect(proxy.url, lease=1) as client:
            lock = client.lock(name)
            assert lock.acquire()
            held = lock.held
            assert held is not None
            began = time.monotonic()
            proxy.black_hole()
            with pytest.raises((libdlock.ConnectionFailed, libdlock.OutcomeUnknown, libdlock.AcquireTimeout)):
                if not client.lock(name + "-other").acquire(timeout=0.5):
                    raise libdlock.AcquireTimeout("not in time")
            refused = time.monotonic() - began
            assert held.lost.wait(3)
            lost = time.monotonic() - began
            assert held.lost.reason == "expired"
        assert refused >= 0.45
        if refused < 0.75 and lost < 1:
            break
        proxy.passes_again()
    else:
        pytest.fail(f"refused after {refused} s, lost after {lost} s")


def test_after_an_empty_restart_the_hold_is_lost_and_the_lock_free(
    own_server: RedisServer, name: str
) -> None:
    with libdlock.connect(own_server.url, lease=1.5) as client:
        lock = client.lock(name)
        assert lock.acquire()
        held = lock.held
        assert held is not None
        own_server.kill()
        own_server.start()
        assert held.lost.wait(3)
        with libdlock.connect(own_server.url) as other, other.lock(name, wait=2) as taken:
            assert taken.token > held.token


def test_a_reply_lost_on_the_way_is_made_good(proxy: Proxy, server: RedisServer, name: str) -> None:
    with libdlock.connect(proxy.url) as client:
        lock = client.lock(name)
        for _ in range(10):
            proxy.reset_at_reply_to(name)
            assert lock.acquire()
            assert lock.hold_count == 1
            proxy.reset_at_reply_to(name)
            lock.release()
            assert server.command("EXISTS", name) == 0
        assert proxy.resets == 20


def test_waits_given_up_leave_no_key(server: RedisServer, name: str) -> None:
    """200 callers that give up at once; the Rust tests have ten thousand, cancelled between request and reply."""
    with libdlock.connect(server.url) as holder, libdlock.connect(server.url) as client:
        got: list[bool] = []

        def give_up(number: int) -> None:
            got.append(client.lock(f"{name}-{number % 5}").acquire(timeout=0.02))

        locks = [holder.lock(f"{name}-{number}") for number in range(5)]
        for lock in locks:
            assert lock.acquire()
        threads = [threading.Thread(target=give_up, args=(number,)) for number in range(200)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(20)
        assert got == [False] * 200
        for lock in locks:
            lock.release()
    for number in range(5):
        assert server.command("EXISTS", f"{name}-{number}") == 0


def test_script_flush_between_any_two_calls_is_no_error(server: RedisServer, name: str) -> None:
    with libdlock.connect(server.url) as client:
        lock = client.lock(name)
        for _ in range(20):
            server.command("SCRIPT", "FLUSH")
            assert lock.acquire()
            server.command("SCRIPT", "FLUSH")
            lock.inspect()
            server.command("SCRIPT", "FLUSH")
            lock.release()


def test_a_subscription_killed_during_a_wait_costs_a_poll_at_most(own_server: RedisServer, name: str) -> None:
    with libdlock.connect(own_server.url) as holder, libdlock.connect(own_server.url) as waiter:
        held = holder.lock(name)
        assert held.acquire()
        got: list[float] = []

        def wait() -> None:
            with waiter.lock(name, wait=10):
                got.append(time.monotonic())

        thread = threading.Thread(target=wait)
        thread.start()
        deadline = time.monotonic() + 5
        while not own_server.waits(name):
            assert time.monotonic() < deadline, "the waiter neither stands in the queue nor listens"
        own_server.command("CLIENT", "KILL", "TYPE", "pubsub")
        released = time.monotonic()
        held.release()
        thread.join(10)
        assert got[0] - released < 1.2
    assert own_server.loses_its_listeners()
