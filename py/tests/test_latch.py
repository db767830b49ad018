"""The count-down latch for threads."""

from __future__ import annotations

import copy
import datetime
import threading
import time

import pytest

import libdlock
from conftest import Python, assert_named_elsewhere, breaks_within_100_ms


def test_a_latch_opens_when_its_count_is_zero(
    client: libdlock.Client, other: libdlock.Client, name: str
) -> None:
    ready, theirs = client.latch(name), other.latch(name)
    assert (ready.name, repr(ready)) == (name, f"<libdlock.Latch {name!r}>")
    assert ready.wait(), "nobody has set it"
    assert ready.try_set_count(3)
    assert not theirs.try_set_count(5)
    assert not theirs.wait(timeout=0)
    assert not theirs.wait(0.02)
    assert not theirs.wait(datetime.timedelta(milliseconds=20))
    assert (theirs.count_down(2), ready.count()) == (1, 1)
    assert ready.count_down() == 0
    assert ready.count_down(7) == 0, "open it stays"
    assert theirs.wait(timeout=0)
    assert theirs.wait(5)


def test_a_count_may_be_as_large_as_2_to_the_53(client: libdlock.Client, name: str) -> None:
    ready = client.latch(name)
    assert ready.try_set_count(2**53 - 1)
    assert ready.count_down() == 2**53 - 2
    assert ready.count_down(2**53 - 1) == 0


def test_deleting_a_latch_says_whether_it_was_there(client: libdlock.Client, name: str) -> None:
    ready = client.latch(name)
    assert not ready.delete()
    assert ready.try_set_count(1)
    assert ready.delete()
    assert ready.count() == 0


def test_the_last_count_wakes_every_thread_that_waits(url: str, other: libdlock.Client, name: str) -> None:
    with libdlock.connect(url, poll_interval=60) as client:
        ready = client.latch(name)
        assert ready.try_set_count(1)
        opened: list[bool] = []
        threads = [threading.Thread(target=lambda: opened.append(ready.wait(20))) for _ in range(8)]
        for thread in threads:
            thread.start()
        waiting_until(client, 8)
        other.latch(name).count_down()
        for thread in threads:
            thread.join(30)
        assert opened == [True] * 8, "by a message, not by a poll"


def waiting_until(client: libdlock.Client, waiting: int) -> None:
    end = time.monotonic() + 10
    while client.stats().latch.waiting != waiting:
        assert time.monotonic() < end
        time.sleep(0.001)


def test_closing_the_client_ends_a_wait(url: str, name: str) -> None:
    errors: list[str] = []
    with libdlock.connect(url) as client, libdlock.connect(url) as other:
        ready = client.latch(name)
        assert ready.try_set_count(1)

        def wait() -> None:
            try:
                ready.wait()
            except libdlock.Closed as error:
                errors.append(str(error))

        thread = threading.Thread(target=wait)
        thread.start()
        waiting_until(client, 1)
        client.close()
        thread.join(20)
        assert len(errors) == 1 and name in errors[0]
        assert other.latch(name).count() == 1
        for call in (ready.wait, ready.count, ready.count_down, ready.delete, lambda: ready.try_set_count(1)):
            with pytest.raises(libdlock.Closed):
                call()


@pytest.mark.parametrize("count", [0, -1, 2**53, 2**63 - 1])
def test_a_count_out_of_range_is_refused(client: libdlock.Client, name: str, count: int) -> None:
    ready = client.latch(name)
    for call in (ready.try_set_count, ready.count_down):
        with pytest.raises(libdlock.InvalidArgument, match="1 to 9007199254740991") as refused:
            call(count)
        assert refused.value.name == name


@pytest.mark.parametrize("count", [True, 1.0, "1", None])
def test_a_count_of_another_type_is_refused(client: libdlock.Client, name: str, count: int) -> None:
    ready = client.latch(name)
    for call in (ready.try_set_count, ready.count_down):
        with pytest.raises(TypeError, match="n must be int"):
            call(count)


def test_a_count_of_more_than_64_bits_is_refused(client: libdlock.Client, name: str) -> None:
    with pytest.raises(libdlock.InvalidArgument):
        client.latch(name).count_down(2**64)


def test_a_wait_that_is_none_is_refused(client: libdlock.Client, name: str) -> None:
    ready = client.latch(name)
    for timeout in (-1, -0.5, float("nan"), float("inf")):
        with pytest.raises(libdlock.InvalidArgument):
            ready.wait(timeout)
    with pytest.raises(TypeError):
        ready.wait("1")  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        client.latch(b"name")  # type: ignore[arg-type]
    with pytest.raises(libdlock.InvalidName):
        client.latch("")


def test_a_lock_of_the_name_is_the_wrong_type(client: libdlock.Client, name: str) -> None:
    with client.lock(name):
        for call in (
            client.latch(name).wait,
            client.latch(name).count,
            lambda: client.latch(name).try_set_count(1),
        ):
            with pytest.raises(libdlock.WrongType):
                call()


@pytest.mark.parametrize(
    ("elsewhere", "here"),
    [
        ("is_set", "`latch.wait(timeout=0)`"),
        ("set", "`latch.count_down()`"),
        ("clear", "a latch of another name: each is for one round"),
        ("n_waiting", "`latch.count()`"),
        ("getCount", "`latch.count()`"),
        ("trySetCount", "`latch.try_set_count(n)`"),
    ],
)
def test_what_an_event_or_a_barrier_has_is_named(
    client: libdlock.Client, name: str, elsewhere: str, here: str
) -> None:
    assert_named_elsewhere(client.latch(name), "Latch", elsewhere, here)
    assert not hasattr(client.latch(name), "nonsense")


def test_a_latch_cannot_be_copied(client: libdlock.Client, name: str) -> None:
    with pytest.raises(TypeError, match="share the object"):
        copy.copy(client.latch(name))


def test_the_statistics_count_latches(client: libdlock.Client, name: str) -> None:
    ready = client.latch(name)
    ready.try_set_count(2)
    ready.count_down()
    assert not ready.wait(0.01)
    ready.count_down()
    assert ready.wait()
    seen = client.stats().latch
    assert (seen.counted_down, seen.opened, seen.wait_timeouts, seen.waiting) == (2, 1, 1, 0)


WAITING = """
import sys, time, libdlock
url, name = sys.argv[1:]
with libdlock.connect(url) as client:
    ready = client.latch(name)
    assert ready.try_set_count(1)
    try:
        print("waiting", flush=True)
        ready.wait()
    except KeyboardInterrupt:
        print(time.monotonic(), flush=True)
    assert (ready.count(), client.stats().latch.waiting) == (1, 0)
    ready.count_down()
    assert ready.wait()
print("nothing left")
"""


def test_ctrl_c_breaks_a_wait_within_100_ms(python: Python, url: str, name: str) -> None:
    assert breaks_within_100_ms(python, WAITING, url, name) == "nothing left\n"
