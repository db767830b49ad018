"""Consumers of a queue on threads."""

from __future__ import annotations

import itertools
import logging
import signal
import subprocess
import threading
import time

import pytest

import libdlock
from conftest import Python
from libdlock import Backoff, NewJob
from proxy import Proxy

SOON = Backoff(0.02, 0.05)


def until(done: threading.Event) -> None:
    assert done.wait(20)


def test_each_job_is_done_and_acknowledged(
    client: libdlock.Client, other: libdlock.Client, name: str
) -> None:
    queue, done = client.queue(name), threading.Event()
    got: list[bytes] = []

    def handle(delivery: libdlock.Delivery) -> None:
        got.append(delivery.payload)
        if len(got) == 50:
            done.set()

    with queue.consume(handle, concurrency=4) as consumer:
        assert repr(consumer) == f"<libdlock.Consumer of {name!r} concurrency=4>"
        other.queue(name).put_many([str(n) for n in range(50)])
        until(done)
    assert {*got} == {str(n).encode() for n in range(50)} and len(got) == 50
    assert queue.counts()[:4] == (0, 0, 0, 0)


def test_so_many_jobs_are_done_at_a_time(client: libdlock.Client, name: str) -> None:
    done = threading.Event()
    together = threading.Barrier(3, action=done.set)
    with client.queue(name).consume(lambda _: together.wait(20), concurrency=3) as consumer:
        client.queue(name).put_many(["a", "b", "c"])
        until(done)
        assert consumer.stop()
    assert client.queue(name).counts()[:4] == (0, 0, 0, 0)


def test_a_job_that_fails_comes_again_after_the_back_off(
    client: libdlock.Client, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    queue, done = client.queue(name, max_attempts=5), threading.Event()
    times: list[float] = []

    def handle(delivery: libdlock.Delivery) -> None:
        times.append(time.monotonic())
        if delivery.attempt < 3:
            raise LookupError("not yet")
        done.set()

    with caplog.at_level(logging.WARNING, "libdlock"), queue.consume(handle, backoff=Backoff(0.1, 0.1)):
        queue.put("a", id="a")
        until(done)
    assert [later - earlier >= 0.05 for earlier, later in itertools.pairwise(times)] == [True, True]
    assert caplog.messages == [
        f"job 'a' of queue {name!r} failed in its delivery {attempt}: LookupError" for attempt in (1, 2)
    ]
    assert queue.counts()[:4] == (0, 0, 0, 0)


def test_a_job_that_never_succeeds_is_dead(client: libdlock.Client, name: str) -> None:
    queue = client.queue(name, max_attempts=2)

    def handle(delivery: libdlock.Delivery) -> None:
        raise ZeroDivisionError

    with queue.consume(handle, backoff=SOON):
        queue.put("a")
        end = time.monotonic() + 20
        while queue.counts().dead == 0:
            assert time.monotonic() < end
            time.sleep(0.005)
    (dead,) = queue.dead.list()
    assert (dead.attempts, dead.reason) == (2, "ZeroDivisionError")


class Untold(Exception):
    def __str__(self) -> str:
        raise ValueError


def test_the_text_of_an_exception_is_the_reason_where_asked(
    client: libdlock.Client, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The log has the texts as they are, which pytest's processes cannot tell one another.
    monkeypatch.setattr(logging.getLogger("libdlock"), "disabled", True)
    queue = client.queue(name, max_attempts=1)
    errors = [
        LookupError("no route\nto \x1b[31mhost \ud800"),
        ZeroDivisionError(),
        Untold(),
        ValueError("ä" * 2_000),
    ]

    def handle(delivery: libdlock.Delivery) -> None:
        raise errors[int(delivery.id)]

    with queue.consume(handle, reason="text"):
        queue.put_many([NewJob("x", id=str(at)) for at in range(len(errors))])
        end = time.monotonic() + 20
        while queue.counts().dead < len(errors):
            assert time.monotonic() < end
            time.sleep(0.005)
    *short, long = [job.reason for job in sorted(queue.dead.list(), key=lambda job: job.id)]
    assert short == ["LookupError: no route\\nto \\u{1b}[31mhost \\ud800", "ZeroDivisionError", "Untold"]
    assert long is not None and long.startswith("ValueError: ää") and len(long.encode()) == 1_024


def test_a_handler_may_end_its_delivery_itself(client: libdlock.Client, name: str) -> None:
    queue, done = client.queue(name), threading.Event()

    def handle(delivery: libdlock.Delivery) -> None:
        delivery.nack(60, "in a minute")
        done.set()

    with queue.consume(handle):
        queue.put("a")
        until(done)
    assert queue.counts().delayed == 1


def test_a_handler_that_raises_after_its_ack_is_told(
    client: libdlock.Client, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    queue, done = client.queue(name), threading.Event()

    def handle(delivery: libdlock.Delivery) -> None:
        delivery.ack()
        done.set()
        raise LookupError("too late")

    with caplog.at_level(logging.WARNING, "libdlock"), queue.consume(handle):
        queue.put("a", id="a")
        until(done)
    assert caplog.messages == [f"job 'a' of queue {name!r} failed in its delivery 1: LookupError"]
    assert queue.counts()[:4] == (0, 0, 0, 0)


def test_a_stop_finishes_what_is_in_hand_and_takes_no_more(
    client: libdlock.Client, other: libdlock.Client, name: str
) -> None:
    queue, begun, go_on = client.queue(name), threading.Event(), threading.Event()

    def handle(delivery: libdlock.Delivery) -> None:
        begun.set()
        until(go_on)

    consumer = queue.consume(handle)
    consumer.start()
    queue.put_many(["a", "b"])
    until(begun)
    assert not consumer.wait(0)
    consumer.request_stop()
    go_on.set()
    assert consumer.stop() and consumer.wait()
    assert queue.counts()[:4] == (1, 0, 0, 0)
    with other.queue(name).take(0) or pytest.fail("it was not taken") as delivery:
        assert (delivery.payload, delivery.attempt) == (b"b", 1)
    with pytest.raises(RuntimeError, match="started once"):
        consumer.start()


def test_what_is_not_done_within_the_grace_goes_back(
    client: libdlock.Client, other: libdlock.Client, name: str
) -> None:
    queue, begun, go_on = client.queue(name), threading.Event(), threading.Event()
    validity: list[bool] = []

    def handle(delivery: libdlock.Delivery) -> None:
        begun.set()
        until(go_on)
        validity.append(delivery.valid)

    consumer = queue.consume(handle, grace=0.05)
    consumer.start()
    queue.put("a")
    until(begun)
    assert not consumer.stop()
    with other.queue(name).take(20) or pytest.fail("it is back") as again:
        assert again.attempt == 2
    go_on.set()
    assert consumer.wait(20)
    assert validity == [False]


def test_an_idle_consumer_stops_at_once(client: libdlock.Client, name: str) -> None:
    consumer = client.queue(name).consume(lambda _: None, concurrency=8)
    consumer.start()
    end = time.monotonic() + 10
    while client.queue(name).counts().waiters == 0 and time.monotonic() < end:
        time.sleep(0.005)
    begun = time.monotonic()
    assert consumer.stop()
    assert time.monotonic() - begun < 5


def test_a_consumer_of_a_closed_client_ends_with_the_error(url: str, name: str) -> None:
    client = libdlock.connect(url)
    consumer = client.queue(name).consume(lambda _: None)
    consumer.start()
    client.close()
    with pytest.raises(libdlock.Closed):
        consumer.wait(20)


def test_a_handler_that_ends_its_thread_ends_the_consumer(client: libdlock.Client, name: str) -> None:
    queue = client.queue(name)

    def handle(delivery: libdlock.Delivery) -> None:
        raise SystemExit(3)

    queue.put("a")
    with pytest.raises(SystemExit):
        queue.consume(handle).run()
    assert queue.counts().ready == 1, "its job goes back at once"


def test_a_coroutine_that_nobody_awaits_is_no_done_job(client: libdlock.Client, name: str) -> None:
    queue = client.queue(name, max_attempts=1)

    async def handle(delivery: libdlock.Delivery) -> None:
        pass

    with pytest.raises(TypeError, match=r"libdlock\.aio"):
        queue.consume(handle)
    with queue.consume(lambda delivery: handle(delivery)):
        queue.put("a")
        end = time.monotonic() + 20
        while queue.counts().dead == 0:
            assert time.monotonic() < end
            time.sleep(0.005)
    assert queue.dead.list()[0].reason == "TypeError"


def test_a_stop_by_the_first_handler_waits_for_the_others(client: libdlock.Client, name: str) -> None:
    queue = client.queue(name)
    stopped: list[bool] = []
    consumers: list[libdlock.Consumer] = []
    for _ in range(10):
        consumers.append(queue.consume(lambda _: stopped.append(consumers[-1].stop(20)), concurrency=50))
        queue.put("a")
        consumers[-1].start()
        assert consumers[-1].wait(20)
    assert stopped == [True] * 10
    assert queue.counts()[:4] == (0, 0, 0, 0)


def test_a_start_that_runs_out_of_threads_leaves_none(
    client: libdlock.Client, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    queue = client.queue(name)
    consumer, start, left = queue.consume(print, concurrency=3), threading.Thread.start, [1]

    def start_one(thread: threading.Thread) -> None:
        if not left:
            raise RuntimeError("can't start new thread")
        left.pop()
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", start_one)
    with pytest.raises(RuntimeError, match="can't start"):
        consumer.start()
    assert consumer.wait(20), "the one that was started has ended"
    queue.put("a")
    assert consumer.stop()
    end = time.monotonic() + 10
    while queue.counts().ready != 1:  # what came for a take that was given up goes back in the background
        assert time.monotonic() < end
        time.sleep(0.005)


def test_wrong_arguments_are_refused(client: libdlock.Client, name: str) -> None:
    queue = client.queue(name)
    for concurrency in (0, -1, 10_001):
        with pytest.raises(libdlock.InvalidArgument, match="1 to 10000"):
            queue.consume(print, concurrency=concurrency)
    with pytest.raises(libdlock.InvalidArgument, match="0 or more"):
        queue.consume(print, grace=-1)
    with pytest.raises(libdlock.InvalidArgument, match='"type" or "text"'):
        queue.consume(print, reason="message")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="Backoff"):
        queue.consume(print, backoff=5)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="a handler must be a function, not NoneType"):
        queue.consume(None)  # type: ignore[arg-type]


PROGRAM = """
import sys, time, libdlock
grace = float(sys.argv[3])

def handle(delivery):
    print("begun", delivery.id, flush=True)
    time.sleep(0.3 if grace > 1 else 20)
    print("done", delivery.id, flush=True)

queue = libdlock.connect(sys.argv[1]).queue(sys.argv[2])
print("finished", queue.consume(handle, grace=grace).run(), flush=True)
"""


@pytest.mark.parametrize("grace", [20.0, 0.01])
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_lets_the_job_in_hand_be_finished(
    python: Python, client: libdlock.Client, url: str, name: str, number: int, grace: float
) -> None:
    if url.startswith("memory"):
        pytest.skip("of this process alone")
    queue = client.queue(name)
    queue.put_many([NewJob("a", id="a"), NewJob("b", id="b")])
    process: subprocess.Popen[str] = python(PROGRAM, url, name, str(grace))
    assert process.stdout is not None
    assert process.stdout.readline() == "begun a\n"
    process.send_signal(number)
    out, err = process.communicate(timeout=30)
    in_time = grace > 1
    assert (process.returncode, out) == (0, f"{'done a' + chr(10) if in_time else ''}finished {in_time}\n"), (
        err
    )
    assert sorted(job.id for job in queue.peek()) == (["b"] if in_time else ["a", "b"])
    assert queue.counts().in_flight == 0


SEVERAL = """
import sys, threading, libdlock
client = libdlock.connect(sys.argv[1])

def run(name):
    done = client.queue(name).consume(print).run()
    print(f"finished {done}\\n", end="", flush=True)

threads = [threading.Thread(target=run, args=(sys.argv[2] + str(at),)) for at in range(2)]
for thread in threads:
    thread.start()
run(sys.argv[2])
"""


def test_a_signal_stops_all_consumers_that_run(
    python: Python, client: libdlock.Client, url: str, name: str
) -> None:
    if url.startswith("memory"):
        pytest.skip("of this process alone")
    process = python(SEVERAL, url, name)
    end = time.monotonic() + 20
    for queue in (client.queue(name + number) for number in ("", "0", "1")):
        while queue.counts().waiters == 0:
            assert time.monotonic() < end
            time.sleep(0.005)
    process.send_signal(signal.SIGTERM)
    out, err = process.communicate(timeout=30)
    assert (process.returncode, out) == (0, "finished True\n" * 3), err


HANDLERS = """
import os, signal, threading, time, libdlock

heard = []
own = lambda number, frame: heard.append("own")
signal.signal(signal.SIGTERM, own)
client = libdlock.connect("memory://")

def run(number):
    queue = client.queue(str(number))  # where nobody waits yet
    consumer = queue.consume(print)

    def change(number, frame):
        signal.signal(signal.SIGINT, own)
        consumer.request_stop()

    def when_it_waits():
        while queue.counts().waiters == 0:
            time.sleep(0.005)
        os.kill(os.getpid(), number)

    signal.signal(signal.SIGUSR1, change)
    threading.Thread(target=when_it_waits).start()
    print(consumer.run(), heard, signal.getsignal(signal.SIGTERM) is own, signal.getsignal(signal.SIGINT) is own)

run(signal.SIGTERM)
run(signal.SIGUSR1)
"""


def test_a_run_gives_the_handlers_of_signals_back(python: Python) -> None:
    out, err = python(HANDLERS).communicate(timeout=30)
    assert out.splitlines() == ["True [] True False", "True [] True True"], err


def test_a_stop_does_not_wait_for_a_server_that_is_away(proxy: Proxy, name: str) -> None:
    begun, go_on = threading.Barrier(3), threading.Event()

    def handle(delivery: libdlock.Delivery) -> None:
        begun.wait(20)
        go_on.wait(20)

    with libdlock.connect(proxy.url, operation_timeout=10, response_timeout=0.5) as client:
        queue = client.queue(name)
        queue.put_many(["a", "b"])
        consumer = queue.consume(handle, concurrency=2)
        consumer.start()
        begun.wait(20)
        proxy.black_hole()
        start = time.monotonic()
        assert not consumer.stop(grace=0.1)
        # The operation goes on, and has twice as long.
        assert time.monotonic() - start < 5
        go_on.set()
        proxy.passes_again()


def test_a_killed_consumer_loses_no_job(python: Python, client: libdlock.Client, url: str, name: str) -> None:
    if url.startswith("memory"):
        pytest.skip("of this process alone")
    queue = client.queue(name)
    queue.put_many([NewJob(str(n), id=str(n)) for n in range(20)])
    program = """
import sys, time, libdlock
queue = libdlock.connect(sys.argv[1]).queue(sys.argv[2], watchdog_lease=0.3)
taken = queue.take_many(20)
print(len(taken), flush=True)
time.sleep(60)
"""
    process = python(program, url, name)
    assert process.stdout is not None
    assert process.stdout.readline() == "20\n"
    process.kill()
    done: set[str] = set()
    end = time.monotonic() + 20
    while len(done) < 20 and time.monotonic() < end:
        for delivery in queue.take_many(20, timeout=1):
            with delivery:
                done.add(delivery.id)
                assert delivery.attempt == 2
    assert done == {str(n) for n in range(20)}
