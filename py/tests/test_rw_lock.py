"""The read-write lock for threads: each side with `threading.RLock`'s verbs."""

from __future__ import annotations

import operator
import re
import signal
import threading
import time

import pytest

import libdlock
from conftest import Python, assert_named_elsewhere, breaks_within_100_ms
from redis_server import RedisServer


def test_with_holds_a_side_and_gives_it_back(client: libdlock.Client, name: str) -> None:
    lock = client.rw_lock(name, lease=20)
    with lock.write as held:
        assert held.token > 0 and held.owner.endswith(":write") and held.valid
        assert 15 < held.remaining <= 20
        assert repr(held) == f"<libdlock.RwHeld {name!r} token={held.token}>"
        seen = lock.inspect()
        assert (seen.writer, seen.ours, seen.readers) == (held.owner, True, 0)
        assert (seen.token, seen.queued) == (held.token, 0)
        assert lock.write.held is not None and lock.read.held is None
    assert not held.valid and lock.write.held is None
    with lock.read as reads:
        assert reads.token > held.token
        assert lock.inspect().readers == 1
    assert (lock.name, lock.read.name) == (name, name)
    assert repr(lock) == f"<libdlock.RwLock {name!r}>"
    assert repr(lock.write) == f"<libdlock.RwLockSide {name!r} write>"


def test_threads_read_together_and_a_writer_waits(client: libdlock.Client, name: str) -> None:
    lock = client.rw_lock(name)
    together = threading.Barrier(3, timeout=20)

    def read() -> None:
        with lock.read:
            together.wait()  # all three are inside
            together.wait()

    threads = [threading.Thread(target=read) for _ in range(2)]
    for thread in threads:
        thread.start()
    together.wait()
    assert not lock.write.acquire(blocking=False)
    assert not lock.write.acquire(timeout=0.05)
    together.wait()
    for thread in threads:
        thread.join()
    assert lock.write.acquire(timeout=20)
    lock.write.release()


def test_a_writer_may_read_and_a_reader_not_write(client: libdlock.Client, name: str) -> None:
    lock = client.rw_lock(name)
    with lock.write, lock.read:
        assert (lock.write.hold_count, lock.read.hold_count) == (1, 1)
    with lock.read as reads:
        with pytest.raises(libdlock.Deadlock, match="release the read side first, or acquire the write side"):
            lock.write.acquire()
        with pytest.raises(libdlock.Deadlock), lock.write:
            raise AssertionError("not reached")
        assert reads.valid
    assert lock.inspect().readers == 0


def test_a_side_is_entered_again_and_counted(client: libdlock.Client, name: str) -> None:
    lock = client.rw_lock(name)
    for side in (lock.read, lock.write):
        with side, side:
            assert side.acquire(blocking=False)
            assert side.hold_count == 3
            side.release()
        assert side.hold_count == 0
        with pytest.raises(libdlock.NotHeld):
            side.release()
    once = client.rw_lock(name, reentrant=False)
    with once.read, pytest.raises(libdlock.Deadlock, match="not re-entrant"):
        once.read.acquire()


def test_a_downgraded_block_ends_the_read_side(client: libdlock.Client, name: str) -> None:
    lock = client.rw_lock(name)
    with lock.write as held:
        reads = held.downgrade()
        assert isinstance(reads, libdlock.RwHeld)
        assert reads.token > held.token and reads.valid and not held.valid
        assert held.lost.reason is None
        assert (lock.write.hold_count, lock.read.hold_count) == (0, 1)
        assert lock.inspect().writer is None
        with pytest.raises(libdlock.InvalidArgument, match="reads already"):
            reads.downgrade()
    assert lock.inspect().readers == 0
    with lock.write:
        pass


def test_only_the_inner_of_two_blocks_is_downgraded(client: libdlock.Client, name: str) -> None:
    lock = client.rw_lock(name)
    with lock.write as outer:
        with lock.write:
            lock.write.downgrade()
            assert (lock.write.hold_count, lock.read.hold_count) == (1, 1)
        assert outer.valid and (lock.write.hold_count, lock.read.hold_count) == (1, 0)
    assert lock.inspect().writer is None


def test_a_downgrade_without_a_block_is_released(client: libdlock.Client, name: str) -> None:
    lock = client.rw_lock(name)
    with pytest.raises(libdlock.NotHeld):
        lock.write.downgrade()
    assert lock.write.acquire()
    lock.write.downgrade().release()
    assert (lock.write.hold_count, lock.read.hold_count) == (0, 0)
    with pytest.raises(libdlock.NotHeld):
        lock.write.release()


def test_a_downgrade_wakes_readers_of_other_threads(client: libdlock.Client, name: str) -> None:
    lock = client.rw_lock(name)
    got: list[bool] = []
    with lock.write as held:
        thread = threading.Thread(target=lambda: got.append(lock.read.acquire(timeout=20)))
        thread.start()
        while client.stats().rw_lock.waiting == 0:
            time.sleep(0.001)
        held.downgrade()
        thread.join()
        assert got == [True]


def test_a_hold_that_is_taken_belongs_to_its_object(client: libdlock.Client, name: str) -> None:
    lock = client.rw_lock(name)
    with lock.write.take() as held:
        assert lock.write.hold_count == 0
        held.extend(60)
        assert held.remaining > 40
        with pytest.raises(libdlock.InvalidArgument, match="another process"):
            held.detach()
        with pytest.raises(libdlock.AcquireTimeout):
            lock.read.take(wait=0)
        reads = held.downgrade()
        assert isinstance(reads, libdlock.OwnedRwHold) and reads.valid
        with pytest.raises(libdlock.NotHeld):
            held.release()
    other = lock.read.take(wait=0)
    del held
    assert reads.valid, "the hold that was spent ends nothing"
    reads.release()
    other.release()
    assert lock.inspect().readers == 0


def test_a_thread_cannot_release_what_another_acquired(client: libdlock.Client, name: str) -> None:
    lock = client.rw_lock(name)
    assert lock.write.acquire()
    errors: list[BaseException] = []

    def other() -> None:
        for call in (lock.write.release, lock.read.release, lock.write.downgrade):
            try:
                call()
            except libdlock.NotHeld as error:
                errors.append(error)

    thread = threading.Thread(target=other)
    thread.start()
    thread.join()
    assert len(errors) == 3
    lock.write.release()


@pytest.mark.parametrize(
    ("name_elsewhere", "here"),
    [
        ("acquire", "`lock.read.acquire` or `lock.write.acquire`"),
        ("release", "`lock.read.release` or `lock.write.release`"),
        ("gen_rlock", "`with lock.read:`"),
        ("gen_wlock", "`with lock.write:`"),
        ("read_lock", "`with lock.read:`"),
        ("writer_lock", "`with lock.write:`"),
        ("acquire_write_lock", "`lock.write.acquire()`"),
        ("downgrade", "`lock.write.downgrade()`"),
        ("locked", "`lock.inspect()`"),
    ],
)
def test_what_others_call_it_is_answered_with_our_name(
    client: libdlock.Client, name: str, name_elsewhere: str, here: str
) -> None:
    lock = client.rw_lock(name)
    assert_named_elsewhere(lock, "RwLock", name_elsewhere, here)
    with pytest.raises(AttributeError) as raised:
        lock.nonsense  # type: ignore[attr-defined]  # noqa: B018
    assert str(raised.value) == "'RwLock' object has no attribute 'nonsense'"


def test_a_scope_without_a_side_says_which_sides_there_are(client: libdlock.Client, name: str) -> None:
    with pytest.raises(TypeError, match=r"use `with lock\.read:` or `with lock\.write:`$"):
        client.rw_lock(name).__enter__()  # type: ignore[attr-defined]


def test_what_is_named_instead_is_there(client: libdlock.Client, name: str) -> None:
    lock = client.rw_lock(name)
    named = [
        part for here in type(lock)._elsewhere.values() for part in re.findall(r"lock((?:\.\w+)+)", here)
    ]
    assert ".read.hold_count" in named
    for path in set(named):
        operator.attrgetter(path[1:])(lock)


@pytest.mark.parametrize(
    ("name_elsewhere", "here"),
    [
        ("locked", "`lock.inspect()` of the read-write lock"),
        ("inspect", "`lock.inspect()` of the read-write lock"),
        ("force_release", "`lock.force_release()` of the read-write lock"),
        ("detach", "`client.lock(name)`: a hold of a side cannot be detached"),
    ],
)
def test_what_a_lock_has_and_a_side_has_not_is_named(
    client: libdlock.Client, name: str, name_elsewhere: str, here: str
) -> None:
    lock = client.rw_lock(name)
    for side in (lock.read, lock.write):
        assert_named_elsewhere(side, "RwLockSide", name_elsewhere, here)


def test_a_side_is_not_called(client: libdlock.Client, name: str) -> None:
    with pytest.raises(TypeError, match=r"`write` is no method: use `with lock\.write:` or"):
        client.rw_lock(name).write()


def test_options_out_of_range_are_refused(client: libdlock.Client, name: str) -> None:
    with pytest.raises(libdlock.InvalidArgument, match="100 ms to 24 h"):
        client.rw_lock(name, lease=0.05)
    with pytest.raises(libdlock.InvalidArgument, match="0 to 10 s"):
        client.rw_lock(name, shared_age=11)
    with pytest.raises(libdlock.InvalidArgument):
        client.rw_lock(name, shared_age=-1)
    with pytest.raises(libdlock.InvalidArgument):
        client.rw_lock(name, lease=1, watchdog_lease=1)
    with pytest.raises(libdlock.InvalidArgument):
        client.rw_lock(name, wait=-1)
    with pytest.raises(TypeError, match="reentrant must be bool, not int"):
        client.rw_lock(name, reentrant=1)  # type: ignore[arg-type]
    with pytest.raises(libdlock.InvalidName):
        client.rw_lock("")
    with pytest.raises(libdlock.InvalidArgument):
        client.rw_lock(name).read.acquire(timeout=-2)


def test_with_raises_when_the_wait_is_over(client: libdlock.Client, name: str) -> None:
    lock = client.rw_lock(name, wait=0.05)
    with lock.read.take(), pytest.raises(libdlock.AcquireTimeout, match="held by one reader"), lock.write:
        raise AssertionError("not reached")


def test_a_lock_of_that_name_is_the_wrong_type(client: libdlock.Client, name: str) -> None:
    with client.rw_lock(name).read:
        assert client.stats().rw_lock.held == 1
        assert client.stats().lock.held == 0
        with pytest.raises(libdlock.WrongType):
            client.lock(name).acquire(blocking=False)


def test_a_forced_release_ends_holds_of_both_sides(client: libdlock.Client, name: str) -> None:
    lock = client.rw_lock(name)
    assert lock.force_release() is False
    for side in (lock.read, lock.write):
        held = side.take()
        assert lock.force_release() is True
        assert not held.valid
        assert lock.inspect().writer is None
        assert lock.inspect().readers == 0
        with pytest.raises(libdlock.NotHeld):
            held.release()


def test_a_scope_that_lost_its_hold_says_so(server: RedisServer, name: str) -> None:
    with libdlock.connect(server.url) as client:
        lock = client.rw_lock(name, lease=0.3)
        with pytest.raises(libdlock.NotHeld), lock.write as held:
            assert held.lost.wait(5)
            assert held.lost.reason == "expired"
        with lock.write as held:
            reads = held.downgrade()
            reads.extend(20)
            assert reads.remaining > 10
        with lock.read as again:
            assert again.valid


def test_closing_the_client_ends_its_waiters(client: libdlock.Client, name: str) -> None:
    lock = client.rw_lock(name)
    assert lock.write.acquire()
    errors: list[BaseException] = []

    def wait() -> None:
        try:
            lock.read.acquire()
        except libdlock.Closed as error:
            errors.append(error)

    thread = threading.Thread(target=wait)
    thread.start()
    while client.stats().rw_lock.waiting == 0:
        time.sleep(0.001)
    client.close(release=True)
    thread.join()
    assert len(errors) == 1
    with pytest.raises(libdlock.Closed):
        lock.inspect()


# Another client of the process writes.
WAITING = """
import sys, time, libdlock
url, name, side, way = sys.argv[1:]
with libdlock.connect(url) as holder, libdlock.connect(url) as client:
    with holder.rw_lock(name).write.take() as held:
        lock = client.rw_lock(name)
        of = getattr(lock, side)
        ways = {"acquire": of.acquire, "with": of.__enter__, "take": of.take}
        try:
            print("waiting", flush=True)
            ways[way]()
        except KeyboardInterrupt:
            print(time.monotonic(), flush=True)
        assert of.hold_count == 0
        assert held.valid
    with of:
        pass
print("nothing left")
"""


@pytest.mark.parametrize("way", ["acquire", "with", "take"])
@pytest.mark.parametrize("side", ["read", "write"])
def test_ctrl_c_breaks_a_wait_for_a_side(
    server: RedisServer, python: Python, name: str, way: str, side: str
) -> None:
    assert breaks_within_100_ms(python, WAITING, server.url, name, side, way) == "nothing left\n"


HOLDING = """
import sys, time, libdlock
url, name = sys.argv[1:]
libdlock.connect(url, lease=1).rw_lock(name).write.acquire()
print("holding", flush=True)
time.sleep(60)
"""


def test_a_side_of_a_killed_process_comes_back(server: RedisServer, python: Python, name: str) -> None:
    process = python(HOLDING, server.url, name)
    assert process.stdout is not None
    assert process.stdout.readline() == "holding\n"
    with libdlock.connect(server.url) as client:
        lock = client.rw_lock(name)
        assert lock.inspect().writer is not None
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert lock.read.acquire(timeout=10), "the lease of 1 s is over long before"


FORKING = """
import os, signal, sys, libdlock
url, name = sys.argv[1:]
with libdlock.connect(url) as client:
    lock = client.rw_lock(name)
    with lock.read as held, lock.read.take() as taken:
        pid = os.fork()
        if pid == 0:
            signal.alarm(50)
            read, write = lock.read, lock.write
            calls = read.acquire, read.release, read.take, write.acquire, write.downgrade, lock.inspect
            for call in (*calls, taken.release, taken.downgrade, held.release):
                try:
                    call()
                except libdlock.Forked:
                    continue
                os._exit(2)
            del held, taken
            os._exit(0)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
        assert held.valid and taken.valid
        assert lock.inspect().readers > 0
print("done")
"""


@pytest.mark.parametrize("backend", ["redis", "memory"])
def test_a_forked_child_has_none_of_its_parents_sides(
    server: RedisServer, python: Python, name: str, backend: str
) -> None:
    process = python(FORKING, server.url if backend == "redis" else "memory://x", name)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (0, "done\n"), err
    assert "Traceback" not in err, err
