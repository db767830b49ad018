"""The counting semaphore for threads: permits that belong to nobody."""

from __future__ import annotations

import copy
import threading
import time

import pytest

import libdlock
from conftest import Python, breaks_within_100_ms, ended
from redis_server import RedisServer


def test_anybody_brings_back_what_somebody_took(
    client: libdlock.Client, other: libdlock.Client, name: str
) -> None:
    slots, theirs = client.counting_semaphore(name), other.counting_semaphore(name)
    assert (slots.name, repr(slots)) == (name, f"<libdlock.CountingSemaphore {name!r}>")
    assert slots.inspect() == libdlock.CountingSemaphoreInspection(exists=False, available=0, queued=0)
    assert slots.try_set_permits(3)
    assert not theirs.try_set_permits(9)
    assert slots.acquire()
    assert slots.acquire(2, timeout=5)
    assert not theirs.try_acquire()
    assert not theirs.acquire(blocking=False)
    assert not theirs.acquire(2, 0.02)
    theirs.release(3)
    seen = slots.inspect()
    assert (seen.exists, seen.available) == (True, 3)


def test_more_may_be_released_than_were_taken(client: libdlock.Client, name: str) -> None:
    slots = client.counting_semaphore(name)
    slots.release(2)
    slots.release()
    assert slots.inspect().available == 3, "nobody counts who took how many"


def test_permits_are_added_taken_away_and_drained(client: libdlock.Client, name: str) -> None:
    slots = client.counting_semaphore(name)
    slots.add_permits(2)
    slots.add_permits(-5)
    assert slots.inspect().available == -3
    assert not slots.try_acquire()
    assert slots.drain() == -3
    slots.add_permits(4)
    assert slots.drain() == 4
    assert slots.drain() == 0


def test_a_release_wakes_a_thread_that_waits(
    client: libdlock.Client, other: libdlock.Client, name: str
) -> None:
    slots = client.counting_semaphore(name)
    assert slots.try_set_permits(0)
    got: list[bool] = []
    thread = threading.Thread(target=lambda: got.append(slots.acquire(2, timeout=20)))
    thread.start()
    waiting_until(client, 1)
    other.counting_semaphore(name).release(2)
    thread.join(20)
    assert got == [True]
    assert slots.inspect().available == 0


def waiting_until(client: libdlock.Client, waiting: int) -> None:
    end = time.monotonic() + 10
    while client.stats().counting_semaphore.waiting != waiting:
        assert time.monotonic() < end
        time.sleep(0.001)


def test_closing_the_client_ends_a_wait_and_takes_nothing(url: str, name: str) -> None:
    errors: list[str] = []
    with libdlock.connect(url) as client, libdlock.connect(url) as other:
        slots = client.counting_semaphore(name)
        assert slots.try_set_permits(0)

        def wait() -> None:
            try:
                slots.acquire()
            except libdlock.Closed as error:
                errors.append(str(error))

        thread = threading.Thread(target=wait)
        thread.start()
        waiting_until(client, 1)
        client.close()
        thread.join(20)
        assert len(errors) == 1 and name in errors[0]
        theirs = other.counting_semaphore(name)
        theirs.release()
        assert theirs.acquire(timeout=10), "nobody stands in the queue before it"
        for call in (slots.acquire, slots.release, slots.drain, slots.inspect, lambda: slots.add_permits(1)):
            with pytest.raises(libdlock.Closed):
                call()


@pytest.mark.parametrize("number", [0, -1, 2**31, 2**63 - 1])
def test_a_number_of_permits_out_of_range_is_refused(client: libdlock.Client, name: str, number: int) -> None:
    slots = client.counting_semaphore(name)
    for call in (slots.acquire, slots.try_acquire, slots.release):
        with pytest.raises(libdlock.InvalidArgument, match="1 to 2147483647") as refused:
            call(number)
        assert refused.value.name == name
    for wrong in (0, 2**31, -(2**31)):
        with pytest.raises(libdlock.InvalidArgument):
            slots.add_permits(wrong)
    if number != 0:
        with pytest.raises(libdlock.InvalidArgument, match="0 to 2147483647"):
            slots.try_set_permits(number)
    assert not slots.inspect().exists


def test_a_sum_that_redisson_cannot_count_is_refused(client: libdlock.Client, name: str) -> None:
    slots = client.counting_semaphore(name)
    assert slots.try_set_permits(2**31 - 1)
    with pytest.raises(libdlock.InvalidArgument):
        slots.release()
    assert slots.inspect().available == 2**31 - 1


def test_blocking_is_not_the_number_of_permits(client: libdlock.Client, name: str) -> None:
    slots = client.counting_semaphore(name)
    for flag in (True, False):
        with pytest.raises(TypeError, match=r"use acquire\(blocking=False\)"):
            slots.acquire(flag)
    with pytest.raises(TypeError, match="n must be int"):
        slots.release(1.0)  # type: ignore[arg-type]
    with pytest.raises(libdlock.InvalidArgument):
        slots.acquire(1, timeout=-5)
    with pytest.raises(libdlock.InvalidArgument):
        slots.acquire(1, timeout=5, blocking=False)


def test_with_is_refused_and_says_what_to_use(client: libdlock.Client, name: str) -> None:
    slots = client.counting_semaphore(name)
    with pytest.raises(TypeError, match=r"use acquire\(\) and release\(\), or `client.semaphore"):
        slots.__enter__()  # type: ignore[attr-defined]
    with pytest.raises(AttributeError, match=r"use `client.semaphore\(name, permits\)`"):
        slots.take  # type: ignore[attr-defined]  # noqa: B018
    with pytest.raises(AttributeError, match=r"use `slots\.inspect"):
        slots.available_permits  # type: ignore[attr-defined]  # noqa: B018
    with pytest.raises(TypeError, match="share the object"):
        copy.copy(slots)


def test_a_lock_or_semaphore_of_the_name_is_the_wrong_type(client: libdlock.Client, name: str) -> None:
    slots = client.counting_semaphore(name)
    with client.lock(name):
        for call in (slots.acquire, slots.release, slots.inspect, slots.drain):
            with pytest.raises(libdlock.WrongType):
                call()
    leased = client.semaphore(f"{name}-leased", 1)
    with leased, pytest.raises(libdlock.WrongType):
        client.counting_semaphore(f"{name}-leased").acquire(timeout=1)


def test_the_statistics_count_permits(client: libdlock.Client, name: str) -> None:
    slots = client.counting_semaphore(name)
    slots.release(2)
    assert slots.acquire()
    assert not slots.acquire(2, timeout=0.01)
    seen = client.stats().counting_semaphore
    assert (seen.acquired, seen.released, seen.wait_timeouts, seen.waiting) == (1, 1, 1, 0)


WAITING = """
import sys, time, libdlock
url, name = sys.argv[1:]
with libdlock.connect(url) as client:
    slots = client.counting_semaphore(name)
    assert slots.try_set_permits(1) or slots.inspect().available == 1
    try:
        print("waiting", flush=True)
        slots.acquire(2)
    except KeyboardInterrupt:
        print(time.monotonic(), flush=True)
    assert (slots.inspect().available, client.stats().counting_semaphore.waiting) == (1, 0)
    assert slots.acquire(timeout=5)
    slots.release()
print("nothing left")
"""


def test_ctrl_c_breaks_a_wait_within_100_ms(python: Python, url: str, name: str) -> None:
    assert breaks_within_100_ms(python, WAITING, url, name) == "nothing left\n"


# A timer interrupts an acquire at every point that it can hit. What the program was not told of stays with nobody.
STORM = """
import signal, sys, time, libdlock
url, name, seconds = sys.argv[1], sys.argv[2], float(sys.argv[3])

class Ring(Exception): ...

armed = False

# The signal may reach another thread of the process first, and this one when the timer was stopped already: once for
# each time that it is armed, and not outside.
def ring(*_):
    global armed
    if armed:
        armed = False
        raise Ring

rings = passes = 0
with libdlock.connect(url) as client, libdlock.connect(url) as other:
    slots, check = client.counting_semaphore(name), other.counting_semaphore(name)
    assert check.try_set_permits(1)
    signal.signal(signal.SIGALRM, ring)
    end = time.monotonic() + seconds
    gap = 0
    longest = 1500
    # On a busy machine until both were seen, with longer gaps while few passes come to their end.
    while time.monotonic() < end or min(rings, passes) <= 50 and time.monotonic() < end + 30:
        gap = gap % int(longest) + longest // 200
        took = []
        try:
            armed = True
            signal.setitimer(signal.ITIMER_REAL, gap / 1e6)
            took.append(slots.acquire())
            armed = False
        except Ring:
            rings += 1
            if passes < rings:
                longest *= 1.02
        signal.setitimer(signal.ITIMER_REAL, 0)
        if took:
            passes += 1
            slots.release()
        assert check.acquire(timeout=10), f"a permit is gone after {rings} rings"
        check.release()
    assert check.inspect().available == 1
assert rings > 50 and passes > 50, (rings, passes)
print(rings, passes)
"""


@pytest.mark.parametrize("backend", ["redis", "memory"])
def test_an_interrupt_loses_no_permit(server: RedisServer, python: Python, name: str, backend: str) -> None:
    process = python(STORM, server.url if backend == "redis" else "memory://x", name, "3")
    print("interrupts, passes:", ended(process))
