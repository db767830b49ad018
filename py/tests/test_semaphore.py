"""The semaphore for threads: `threading.Semaphore`'s verbs, with permits that are leased."""

from __future__ import annotations

import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

import libdlock
from conftest import Python, assert_named_elsewhere, breaks_within_100_ms
from redis_server import RedisServer


def test_with_gives_a_permit_and_gives_it_back(client: libdlock.Client, name: str) -> None:
    semaphore = client.semaphore(name, 2, lease=20)
    with semaphore as held:
        assert (held.token, len(held.permits), len(held.permits[0])) == (0, 1, 32)
        assert held.valid
        assert 15 < held.remaining <= 20
        assert repr(held) == f"<libdlock.Held {name!r} permits=1>"
        assert semaphore.inspect() == libdlock.SemaphoreInspection(permits=2, available=1, queued=0)
        assert semaphore.hold_count == 1
    assert not held.valid
    assert semaphore.held is None
    assert semaphore.inspect().available == 2


def test_each_acquire_of_a_thread_is_a_hold_of_its_own(client: libdlock.Client, name: str) -> None:
    semaphore = client.semaphore(name, 5)
    assert semaphore.acquire()
    assert semaphore.acquire(permits=3, lease=60)
    latest = semaphore.held
    assert latest is not None and len(latest.permits) == 3
    assert not semaphore.acquire(blocking=False, permits=2)
    assert not semaphore.acquire(timeout=0.05, permits=2)
    semaphore.release()
    assert (semaphore.hold_count, semaphore.inspect().available) == (1, 4)
    semaphore.release()
    with pytest.raises(libdlock.NotHeld):
        semaphore.release()


def test_a_thread_cannot_release_what_another_acquired(client: libdlock.Client, name: str) -> None:
    semaphore = client.semaphore(name, 1)
    assert semaphore.acquire()
    errors: list[BaseException] = []

    def other() -> None:
        try:
            semaphore.release()
        except libdlock.NotHeld as error:
            errors.append(error)

    thread = threading.Thread(target=other)
    thread.start()
    thread.join()
    assert len(errors) == 1
    semaphore.release()


def test_a_release_of_n_ends_holds_of_so_many_permits(client: libdlock.Client, name: str) -> None:
    semaphore = client.semaphore(name, 6)
    for permits in (3, 1, 2):
        assert semaphore.acquire(permits=permits)
    for wrong in (1, 4, 7):
        with pytest.raises(libdlock.InvalidArgument, match="allowed: 2 or 3 or 6"):
            semaphore.release(wrong)
    assert semaphore.hold_count == 3
    semaphore.release(3)
    assert (semaphore.hold_count, semaphore.inspect().available) == (1, 3)
    semaphore.release(3)
    with pytest.raises(libdlock.NotHeld):
        semaphore.release(3)


def test_a_scope_ends_its_own_hold_and_no_other(client: libdlock.Client, name: str) -> None:
    semaphore = client.semaphore(name, 3)
    with semaphore:
        assert semaphore.acquire(permits=2)
    held = semaphore.held
    assert held is not None and len(held.permits) == 2
    with semaphore:
        semaphore.release()
        assert semaphore.acquire()
    assert semaphore.hold_count == 1
    held.release()
    assert semaphore.inspect().available == 3


def test_a_scope_whose_hold_was_released_ends_no_older(client: libdlock.Client, name: str) -> None:
    semaphore = client.semaphore(name, 3)
    assert semaphore.acquire(permits=2)
    older = semaphore.held
    assert older is not None
    with pytest.raises(libdlock.NotHeld), semaphore:
        semaphore.release()
    assert older.valid
    assert semaphore.inspect().available == 1
    semaphore.release()
    assert semaphore.inspect().available == 3


def test_with_raises_when_the_wait_is_over(client: libdlock.Client, name: str) -> None:
    semaphore = client.semaphore(
        name, 1, wait=0.5
    )  # in which the server answers: else the error says that it did not
    with semaphore, pytest.raises(libdlock.AcquireTimeout, match="only 0 of 1 permits"):
        semaphore.__enter__()


def test_a_release_wakes_who_waits_in_another_thread(client: libdlock.Client, name: str) -> None:
    semaphore = client.semaphore(name, 2)
    held = semaphore.take(2)
    got: list[bool] = []
    thread = threading.Thread(target=lambda: got.append(semaphore.acquire(timeout=20, permits=2)))
    thread.start()
    while client.stats().semaphore.waiting == 0:
        time.sleep(0.001)
    held.release()
    thread.join()
    assert got == [True]


def test_a_hold_that_is_taken_belongs_to_its_object(client: libdlock.Client, name: str) -> None:
    semaphore = client.semaphore(name, 3)
    with semaphore.take(2, lease=5) as held:
        assert (semaphore.hold_count, len(held.permits)) == (0, 2)
        assert repr(held) == f"<libdlock.OwnedHold {name!r} permits=2>"
        held.extend(60)
        assert held.remaining > 40
        with pytest.raises(libdlock.InvalidArgument, match="another process"):
            held.detach()
        with pytest.raises(libdlock.AcquireTimeout):
            semaphore.take(2, wait=0)
    assert semaphore.inspect().available == 3
    with pytest.raises(libdlock.NotHeld):
        held.release()


def test_extending_names_the_hold(client: libdlock.Client, name: str) -> None:
    semaphore = client.semaphore(name, 2, lease=5)
    with semaphore as first, semaphore as second:
        first.extend(60)
        assert first.remaining > 40
        assert second.remaining <= 5
        semaphore.extend(90)
        assert second.remaining > 60


def test_the_number_of_permits_is_set(client: libdlock.Client, name: str) -> None:
    semaphore = client.semaphore(name, 2)
    assert semaphore.inspect().permits is None
    with semaphore, semaphore:
        semaphore.set_permits(1)
        assert semaphore.inspect() == libdlock.SemaphoreInspection(permits=1, available=-1, queued=0)
        semaphore.set_permits(3)
        assert semaphore.acquire(blocking=False)
    semaphore.release()
    assert semaphore.inspect().permits == 3


def test_numbers_of_permits_out_of_range_are_refused(client: libdlock.Client, name: str) -> None:
    for permits in (0, -1, 2**31):
        with pytest.raises(libdlock.InvalidArgument, match="1 to 2147483647"):
            client.semaphore(name, permits)
    semaphore = client.semaphore(name, 3)
    for permits in (0, -1, 10_001):
        with pytest.raises(libdlock.InvalidArgument, match="1 to 10000"):
            semaphore.acquire(permits=permits)
    with pytest.raises(libdlock.InvalidArgument, match="1 to 2147483647"):
        semaphore.set_permits(0)
    with pytest.raises(TypeError, match="permits must be int, not bool"):
        semaphore.acquire(permits=True)
    with pytest.raises(TypeError, match="permits must be int, not str"):
        client.semaphore(name, "3")  # type: ignore[arg-type]
    assert semaphore.inspect().permits is None, "nothing was made"
    with pytest.raises(libdlock.InvalidArgument):
        semaphore.acquire(permits=4)


def test_a_lock_and_a_semaphore_of_one_name_are_two(client: libdlock.Client, name: str) -> None:
    with client.semaphore(name, 1):
        assert client.stats().semaphore.held == 1
        assert client.stats().lock.held == 0
        with pytest.raises(libdlock.WrongType):
            client.lock(name).acquire(blocking=False)


def test_closing_the_client_ends_its_waiters(client: libdlock.Client, name: str) -> None:
    semaphore = client.semaphore(name, 1)
    assert semaphore.acquire()
    errors: list[BaseException] = []

    def wait() -> None:
        try:
            semaphore.acquire()
        except libdlock.Closed as error:
            errors.append(error)

    thread = threading.Thread(target=wait)
    thread.start()
    while client.stats().semaphore.waiting == 0:
        time.sleep(0.001)
    client.close(release=True)
    thread.join()
    assert len(errors) == 1


# Another client of the process has the only permit.
WAITING = """
import sys, time, libdlock
url, name, way = sys.argv[1:]
with libdlock.connect(url) as holder, libdlock.connect(url) as client:
    with holder.semaphore(name, 1).take() as held:
        semaphore = client.semaphore(name, 1)
        ways = {"acquire": semaphore.acquire, "with": semaphore.__enter__, "take": semaphore.take}
        try:
            print("waiting", flush=True)
            ways[way]()
        except KeyboardInterrupt:
            print(time.monotonic(), flush=True)
        assert semaphore.hold_count == 0
        assert held.valid
    with semaphore:
        pass
print("nothing left")
"""


@pytest.mark.parametrize("way", ["acquire", "with", "take"])
def test_ctrl_c_breaks_a_wait_for_permits(python: Python, url: str, name: str, way: str) -> None:
    assert breaks_within_100_ms(python, WAITING, url, name, way) == "nothing left\n"


HOLDING = """
import sys, time, libdlock
url, name = sys.argv[1:]
semaphore = libdlock.connect(url, lease=1).semaphore(name, 3)
semaphore.acquire(permits=2)
print("holding", flush=True)
time.sleep(60)
"""


def test_permits_of_a_killed_process_come_back(server: RedisServer, python: Python, name: str) -> None:
    process = python(HOLDING, server.url, name)
    assert process.stdout is not None
    assert process.stdout.readline() == "holding\n"
    with libdlock.connect(server.url) as client:
        semaphore = client.semaphore(name, 3)
        assert semaphore.inspect().available == 1
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert semaphore.acquire(timeout=10, permits=3), "the lease of 1 s is over long before"


FORKING = """
import os, signal, sys, libdlock
url, name = sys.argv[1:]
with libdlock.connect(url) as client:
    semaphore = client.semaphore(name, 2)
    with semaphore as held, semaphore.take() as taken:
        pid = os.fork()
        if pid == 0:
            signal.alarm(50)
            code = 1
            calls = semaphore.acquire, semaphore.release, semaphore.take, semaphore.inspect
            for call in (*calls, taken.release, held.release):
                try:
                    call()
                except libdlock.Forked:
                    continue
                os._exit(2)
            del held, taken
            os._exit(0)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
        assert held.valid and taken.valid
        assert semaphore.inspect().available == 0
print("done")
"""


@pytest.mark.parametrize("backend", ["redis", "memory"])
def test_a_forked_child_has_none_of_its_parents_permits(
    server: RedisServer, python: Python, name: str, backend: str
) -> None:
    process = python(FORKING, server.url if backend == "redis" else "memory://x", name)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (0, "done\n"), err
    assert "Traceback" not in err, err


def test_the_lost_signal_says_that_permits_are_gone(server: RedisServer, name: str) -> None:
    with libdlock.connect(server.url) as client:
        held = client.semaphore(name, 1, lease=0.3).take()
        assert held.lost.wait(5)
        assert held.lost.reason == "expired"
        with pytest.raises(libdlock.NotHeld):
            held.release()


@pytest.mark.parametrize(
    ("elsewhere", "here"),
    [
        ("locked", "`semaphore.inspect().available`"),
        ("_value", "`semaphore.inspect().available`"),
        ("available_permits", "`semaphore.inspect().available`"),
        ("try_acquire", "`semaphore.acquire(blocking=False)`"),
        (
            "detach",
            "`semaphore.take()`: permits cannot be detached, but any thread may release what was taken",
        ),
    ],
)
def test_what_other_semaphores_have_is_named(
    client: libdlock.Client, name: str, elsewhere: str, here: str
) -> None:
    assert_named_elsewhere(client.semaphore(name, 1), "Semaphore", elsewhere, here)
    assert not hasattr(client.semaphore(name, 1), "nonsense")


@pytest.mark.parametrize("n", [None, 1, 2])
def test_a_release_by_another_thread_says_who_may_release(
    client: libdlock.Client, name: str, n: int | None
) -> None:
    semaphore = client.semaphore(name, 2)
    with semaphore, ThreadPoolExecutor() as threads, pytest.raises(libdlock.NotHeld) as raised:
        threads.submit(semaphore.release, n).result()
    assert "what is taken, for no thread or task, may be released by any" in str(raised.value)
