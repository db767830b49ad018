"""The delayed queue for threads."""

from __future__ import annotations

import copy
import gc
import sys
import threading
import time
import warnings
from datetime import datetime, timedelta, timezone
from typing import Literal

import pytest

import libdlock
from conftest import Python, assert_named_elsewhere, breaks_within_100_ms
from libdlock import NewJob


def comes(queue: libdlock.Queue) -> libdlock.Delivery:
    delivery = queue.take(20)
    assert delivery is not None
    return delivery


def test_a_job_of_one_client_is_done_by_another(
    client: libdlock.Client, other: libdlock.Client, name: str
) -> None:
    ours, theirs = client.queue(name), other.queue(name)
    assert (ours.name, repr(ours)) == (name, f"<libdlock.Queue {name!r}>")
    assert ours.try_take() is None
    before = datetime.now(timezone.utc)
    assert ours.put("é", id="one", priority=3) == ("one", True)
    assert ours.put("other", id="one") == libdlock.Put("one", False)
    delivery = comes(theirs)
    assert (delivery.payload, delivery.id, delivery.attempt) == ("é".encode(), "one", 1)
    assert delivery.priority == 3
    assert abs(delivery.due - before) < timedelta(seconds=20)
    assert delivery.token > 0 and delivery.valid and delivery.remaining > 5 and not delivery.lost.is_set()
    assert repr(delivery) == f"<libdlock.Delivery {name!r} id='one' attempt=1>"
    delivery.extend(60)
    assert delivery.remaining > 40
    delivery.ack()
    assert delivery.ended and not delivery.valid and not delivery.lost.wait(0)
    with pytest.raises(libdlock.NotHeld):
        delivery.ack()
    assert ours.counts()[:4] == (0, 0, 0, 0)


def test_a_queue_is_followed_by_one_of_its_client(
    client: libdlock.Client, other: libdlock.Client, name: str
) -> None:
    urgent, usual = client.queue(name), client.queue(name + "-usual")
    both = urgent.followed_by(usual)
    usual.put("second")
    both.put("first")
    taken = both.take_many(2)
    assert [(job.queue, job.payload) for job in taken] == [(name, b"first"), (usual.name, b"second")]
    assert both.ack_many(taken) == [True, True]
    with pytest.raises(libdlock.InvalidArgument, match="queues of one client"):
        urgent.followed_by(other.queue(name))
    with pytest.raises(TypeError, match="followed by one, not by str"):
        urgent.followed_by("usual")  # type: ignore[arg-type]


def test_jobs_come_when_they_are_due_and_by_priority(client: libdlock.Client, name: str) -> None:
    queue = client.queue(name)
    later = datetime.now(timezone.utc) + timedelta(hours=1)
    queue.put("in an hour", at=later)
    queue.put("soon", delay=timedelta(milliseconds=50))
    queue.put("long ago", at=datetime(1980, 1, 1, tzinfo=timezone.utc))
    queue.put("longer ago", at=86_400.0)
    queue.put("longer ago, and urgent", at=86_400, priority=1)
    assert [job.payload for job in queue.peek(3)] == [b"longer ago, and urgent", b"longer ago", b"long ago"]
    taken = [comes(queue) for _ in range(4)]
    assert [each.payload for each in taken][2:] == [b"long ago", b"soon"]
    assert taken[1].due == datetime(1970, 1, 2, tzinfo=timezone.utc)
    for each in taken:
        each.ack()
    assert queue.take(0.02) is None
    (waiting,) = queue.peek()
    assert abs(waiting.due - later) <= timedelta(milliseconds=1)
    assert (waiting.attempts, waiting.dead_since, waiting.reason) == (0, None, None)


def test_many_are_put_and_taken_at_once(client: libdlock.Client, name: str) -> None:
    queue = client.queue(name)
    puts = queue.put_many(["a", b"b", NewJob(bytearray(b"c"), id="c", delay=60), memoryview(b"d")])
    assert [put.is_new for put in puts] == [True] * 4 and puts[2].id == "c"
    taken = queue.take_many(100)
    assert [each.payload for each in taken] == [b"a", b"b", b"d"]
    assert not queue.take_many(2, timeout=0) and not queue.put_many([])
    taken[1].ack()
    assert queue.ack_many(each for each in taken) == [True, False, True]
    assert all(each.ended for each in taken) and queue.ack_many([]) == []
    assert queue.counts()[:4] == (0, 1, 0, 0)


def test_acknowledged_together_they_are_of_one_queue(client: libdlock.Client, name: str) -> None:
    queue, other = client.queue(name), client.queue(f"{name}-other")
    queue.put("a")
    other.put("b")
    ours, theirs = comes(queue), comes(other)
    with pytest.raises(libdlock.InvalidArgument, match="a delivery of the queue"):
        queue.ack_many([ours, theirs])
    assert not ours.ended and ours.valid and not theirs.ended
    with pytest.raises(TypeError, match=r"ack_many takes deliveries, .*, not str"):
        queue.ack_many(["a"])  # type: ignore[list-item]
    with pytest.raises(TypeError, match=r"not one Delivery: give \[delivery\]"):
        queue.ack_many(ours)  # type: ignore[arg-type]
    assert queue.ack_many([ours]) == other.ack_many([theirs]) == [True]


def test_a_scope_acknowledges_or_puts_back(client: libdlock.Client, name: str) -> None:
    queue = client.queue(name, max_attempts=2)
    queue.put("a")
    for _ in range(2):
        with pytest.raises(LookupError), comes(queue) as delivery:
            raise LookupError("the text is nobody's business")
        assert delivery.ended
    (dead,) = queue.dead.list()
    assert (dead.payload, dead.attempts, dead.reason) == (b"a", 2, "LookupError")
    assert dead.dead_since is not None and dead.dead_since >= dead.due
    assert queue.dead.requeue(dead.id)
    with comes(queue) as delivery:
        assert delivery.attempt == 1
        delivery.nack(60, "later")
    assert queue.counts().delayed == 1, "a delivery that was ended in the block is left alone"


def test_the_dead_are_listed_requeued_and_removed(client: libdlock.Client, name: str) -> None:
    queue = client.queue(name, max_attempts=1)
    queue.put_many([NewJob(id, id=id) for id in "abc"])
    for _ in "abc":
        comes(queue).nack(reason="é" * 600)
    assert {job.reason for job in queue.dead.list()} == {"é" * 512}, "1,024 bytes are kept"
    assert queue.counts().dead == 3 and len(queue.dead.list(2)) == 2
    assert queue.dead.remove("a") and not queue.dead.remove("a")
    assert not queue.dead.requeue("a")
    assert queue.dead.requeue_all() == 2
    assert queue.dead.purge() == 0
    assert queue.cancel("b") and not queue.cancel("b")
    assert queue.purge() == 1
    assert name in repr(queue.dead)


def test_a_job_that_is_being_done_is_not_cancelled(client: libdlock.Client, name: str) -> None:
    queue = client.queue(name)
    queue.put("a", id="a")
    delivery = comes(queue)
    with pytest.raises(libdlock.NotHeld):
        queue.cancel("a")
    delivery.give_back()
    with comes(queue) as delivery:
        assert delivery.attempt == 1, "what was not begun does not count"


def test_a_delivery_that_is_forgotten_goes_back(client: libdlock.Client, name: str) -> None:
    queue = client.queue(name)
    queue.put("a")
    with pytest.warns(ResourceWarning, match=f"{name}.*collected before it was ended: its job goes back"):
        comes(queue)
        gc.collect()
    with comes(queue) as delivery:
        assert delivery.attempt == 2


@pytest.mark.parametrize("action", ["always", "error"])
def test_a_delivery_goes_back_while_warnings_are_kept(
    client: libdlock.Client, name: str, monkeypatch: pytest.MonkeyPatch, action: Literal["always", "error"]
) -> None:
    queue, unraisable = client.queue(name), list[object]()
    monkeypatch.setattr(sys, "unraisablehook", unraisable.append)
    queue.put("a")
    with warnings.catch_warnings(record=True) as kept:
        warnings.simplefilter(action, ResourceWarning)
        comes(queue)
        gc.collect()
        with comes(queue) as delivery:
            assert delivery.attempt == 2
    assert (len(kept), len(unraisable)) == ((1, 0) if action == "always" else (0, 1))


def test_a_lost_delivery_says_so_and_comes_again(
    client: libdlock.Client, other: libdlock.Client, name: str
) -> None:
    queue = client.queue(name, lease=0.15)
    queue.put("a")
    delivery = comes(queue)
    assert delivery.lost.wait(20) and delivery.lost.reason == "expired"
    again = comes(other.queue(name))
    assert again.attempt == 2 and again.token > delivery.token
    with pytest.raises(libdlock.NotHeld):
        delivery.ack()
    again.ack()


def test_a_full_queue_refuses(client: libdlock.Client, name: str) -> None:
    queue = client.queue(name, max_length=1)
    queue.put("a")
    with pytest.raises(libdlock.QueueFull) as raised:
        queue.put("b")
    assert raised.value.retryable


def test_a_put_wakes_a_thread_that_iterates(
    client: libdlock.Client, other: libdlock.Client, name: str
) -> None:
    got: list[bytes] = []

    def work() -> None:
        for delivery in client.queue(name):
            with delivery:
                got.append(delivery.payload)
                if delivery.payload == b"end":
                    return

    thread = threading.Thread(target=work)
    thread.start()
    other.queue(name).put_many(["a", "b", "end"])
    thread.join(20)
    assert got == [b"a", b"b", b"end"]
    assert client.queue(name).counts()[:4] == (0, 0, 0, 0)


def test_wrong_arguments_are_refused(client: libdlock.Client, name: str) -> None:
    queue = client.queue(name, max_payload=3)
    values: list[tuple[dict[str, object], str]] = [
        ({"payload": "four"}, "0 to 3 bytes"),
        ({"id": ""}, "1 to 512 bytes"),
        ({"id": "x" * 513}, "1 to 512 bytes"),
        ({"id": "a\0"}, "without a NUL"),
        ({"id": "\ud800"}, "lone surrogate"),
        ({"payload": "\ud800"}, "lone surrogate"),
        ({"delay": -1}, "0 to 100 years"),
        ({"delay": float("nan")}, "finite"),
        ({"delay": 4e9}, "0 to 100 years"),
        ({"at": 1e11}, "2269"),
        ({"at": float("inf")}, "finite"),
        ({"at": datetime(2030, 1, 1)}, "time zone"),
        ({"at": 1, "delay": 1}, "one of them"),
        ({"priority": 40_000}, "-32768 to 32767"),
    ]
    for given, allowed in values:
        with pytest.raises(libdlock.InvalidArgument, match=allowed):
            queue.put(**{"payload": "a", **given})  # type: ignore[arg-type]
    for wrong in ({"payload": 1}, {"id": 1}, {"delay": "1"}, {"at": "1"}, {"priority": True}):
        with pytest.raises(TypeError):
            queue.put(**{"payload": "a", **wrong})  # type: ignore[arg-type]
    for jobs in ("abc", b"abc", [1], 5):
        with pytest.raises(TypeError):
            queue.put_many(jobs)  # type: ignore[arg-type]
    for n in (0, 101, -1):
        with pytest.raises(libdlock.InvalidArgument, match="1 to 100"):
            queue.take_many(n)
    for n in (0, 1_001, -1):
        for listing in (queue.peek, queue.dead.list):
            with pytest.raises(libdlock.InvalidArgument, match="1 to 1000"):
                listing(n)
    with pytest.raises(libdlock.InvalidArgument):
        queue.take(-1)
    for options in ({"max_attempts": 0}, {"max_payload": 3 << 20}, {"max_length": -1}, {"lease": 0.01}):
        with pytest.raises(libdlock.InvalidArgument):
            client.queue(name, **options)
    with pytest.raises(libdlock.InvalidName):
        client.queue("a{")
    queue.put("a")
    delivery = comes(queue)
    for delay in (-1, 4e9):
        with pytest.raises(libdlock.InvalidArgument, match="100 years"):
            delivery.nack(delay)
    with pytest.raises(TypeError):
        delivery.nack(reason=ValueError())  # type: ignore[arg-type]
    for thing in (queue, delivery):
        with pytest.raises(TypeError):
            copy.copy(thing)
    delivery.ack()


def test_a_refused_delay_leaves_the_delivery_as_it_was(client: libdlock.Client, name: str) -> None:
    queue = client.queue(name)
    queue.put("a")
    with comes(queue) as delivery:
        with pytest.raises(libdlock.InvalidArgument):
            delivery.nack(4e9)
        assert not delivery.ended
    counts = queue.counts()
    assert delivery.ended and (counts.ready, counts.in_flight) == (0, 0)


def test_payloads_of_every_size_are_carried(client: libdlock.Client, name: str) -> None:
    queue = client.queue(name)
    for payload in (b"", bytes(range(256)), b"x" * (1 << 20)):
        queue.put(payload)
        with comes(queue) as delivery:
            assert delivery.payload == payload
    with pytest.raises(libdlock.InvalidArgument, match="1048576 bytes"):
        queue.put(b"x" * ((1 << 20) + 1))


def test_a_closed_client_ends_a_take(url: str, name: str) -> None:
    client = libdlock.connect(url)
    raised: list[BaseException] = []

    def take() -> None:
        try:
            client.queue(name).take()
        except libdlock.Closed as error:
            raised.append(error)

    thread = threading.Thread(target=take)
    thread.start()
    end = time.monotonic() + 10
    with libdlock.connect(url) as watcher:
        while watcher.queue(name).counts().waiters == 0 and time.monotonic() < end:
            time.sleep(0.005)
    client.close()
    thread.join(20)
    assert [type(error) for error in raised] == [libdlock.Closed]


def test_ctrl_c_breaks_a_take_and_takes_nothing(
    python: Python, client: libdlock.Client, url: str, name: str
) -> None:
    if url.startswith("memory"):
        pytest.skip("of this process alone")
    program = """
import sys, time, libdlock
queue = libdlock.connect(sys.argv[1]).queue(sys.argv[2])
try:
    print("waiting", flush=True)
    queue.take()
except KeyboardInterrupt:
    print(time.monotonic(), flush=True)
"""
    breaks_within_100_ms(python, program, url, name)
    client.queue(name).put("a")
    with comes(client.queue(name)) as delivery:
        assert delivery.attempt == 1


@pytest.mark.parametrize(
    ("elsewhere", "here"),
    [
        ("enqueue", "`queue.put(payload)`"),
        ("get", "`queue.take(timeout)`"),
        ("qsize", "`queue.counts()`"),
        ("work", "`queue.consume(handler).run()`"),
    ],
)
def test_what_others_call_it_is_said(client: libdlock.Client, name: str, elsewhere: str, here: str) -> None:
    assert_named_elsewhere(client.queue(name), "Queue", elsewhere, here)


def test_a_back_off_doubles(client: libdlock.Client) -> None:
    backoff = libdlock.Backoff(1, timedelta(seconds=10))
    for attempt, full in ((1, 1), (2, 2), (4, 8), (5, 10), (1_000_000, 10)):
        assert full / 2 <= backoff.delay(attempt) <= full
    assert libdlock.Backoff(0).delay(5) == 0
    assert repr(backoff).startswith("Backoff(base=1, longest=datetime.timedelta(")
    for base, longest in ((-1, 1), (2, 1), (1, -1), (float("nan"), 1)):
        with pytest.raises(libdlock.InvalidArgument):
            libdlock.Backoff(base, longest)
