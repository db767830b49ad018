"""The delayed queue and its consumers for tasks. What it does is tested with threads; here is what tasks add."""

from __future__ import annotations

import asyncio
import gc
import logging
import signal
import time
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

import libdlock
from conftest import Python
from libdlock import Backoff, NewJob, aio
from proxy import Proxy


async def comes(queue: aio.Queue) -> aio.Delivery:
    delivery = await queue.take(20)
    assert delivery is not None
    return delivery


async def until(holds: Callable[[], Awaitable[bool]]) -> None:
    end = time.monotonic() + 20
    while not await holds():
        assert time.monotonic() < end
        await asyncio.sleep(0.005)


async def test_tasks_have_the_same_queue(aio_client: aio.Client, aio_other: aio.Client, name: str) -> None:
    queue, theirs = aio_client.queue(name, max_attempts=1), aio_other.queue(name)
    assert await queue.try_take() is None
    assert await queue.put("a", id="a", priority=-1) == ("a", True)
    puts = await queue.put_many([NewJob("a", id="a"), b"b"])
    assert [put.is_new for put in puts] == [False, True]
    delivery = await comes(theirs)
    assert repr(delivery).startswith(f"<libdlock.aio.Delivery {name!r} id=")
    await delivery.extend(60)
    assert delivery.remaining > 40 and not await delivery.lost.wait(0)
    await delivery.give_back()
    taken = await queue.take_many(2)
    assert len(taken) == 2
    await taken[0].ack()
    with pytest.raises(libdlock.NotHeld):
        await taken[0].ack()
    await taken[1].nack(reason="why")
    (dead,) = await queue.dead.list()
    assert (dead.reason, (await queue.counts()).dead) == ("why", 1)
    assert await queue.dead.requeue_all() == 1 and not await queue.dead.requeue("a")
    assert len(await queue.peek()) == 1 and not await queue.cancel("nobody")
    assert await queue.purge() == 1 and await queue.dead.purge() == 0
    assert not await queue.dead.remove("a")


async def test_many_are_acknowledged_together(aio_client: aio.Client, name: str) -> None:
    queue, other = aio_client.queue(name), aio_client.queue(f"{name}-other")
    await queue.put_many(["a", "b"])
    await other.put("c")
    ours, theirs = await queue.take_many(2), await comes(other)
    with pytest.raises(libdlock.InvalidArgument):
        await queue.ack_many([*ours, theirs])
    assert not ours[0].ended and not theirs.ended
    await ours[0].ack()
    assert await queue.ack_many(ours) == [False, True] and await other.ack_many([theirs]) == [True]
    assert (await queue.counts())[:4] == (0, 0, 0, 0)


async def test_a_refused_delay_leaves_the_delivery_as_it_was(aio_client: aio.Client, name: str) -> None:
    queue = aio_client.queue(name)
    await queue.put("a")
    async with await comes(queue) as delivery:
        with pytest.raises(libdlock.InvalidArgument):
            await delivery.nack(4e9)
        assert not delivery.ended
    counts = await queue.counts()
    assert delivery.ended and (counts.ready, counts.in_flight) == (0, 0)


async def test_a_scope_acknowledges_or_puts_back(aio_client: aio.Client, name: str) -> None:
    queue = aio_client.queue(name, max_attempts=2)
    await queue.put("a")
    with pytest.raises(LookupError):
        async with await comes(queue):
            raise LookupError
    async with await comes(queue) as delivery:
        assert delivery.attempt == 2
    assert (await queue.counts())[:4] == (0, 0, 0, 0)


async def test_a_put_wakes_a_task_that_iterates(
    aio_client: aio.Client, aio_other: aio.Client, name: str
) -> None:
    async def work() -> list[bytes]:
        got = []
        async for delivery in aio_client.queue(name):
            async with delivery:
                got.append(delivery.payload)
                if delivery.payload == b"end":
                    break
        return got

    working = asyncio.create_task(work())
    await aio_other.queue(name).put_many(["a", "b", "end"])
    assert await asyncio.wait_for(working, 20) == [b"a", b"b", b"end"]


async def test_a_cancelled_take_takes_nothing(aio_client: aio.Client, name: str) -> None:
    queue = aio_client.queue(name)
    for wait in (0.0, 0.01):
        taking = asyncio.create_task(queue.take())
        await asyncio.sleep(wait)
        taking.cancel()
        await queue.put("a")
        with pytest.raises(asyncio.CancelledError):
            await taking
        async with await comes(queue) as delivery:
            assert delivery.attempt == 1


async def test_a_take_cancelled_as_its_job_comes_takes_nothing(aio_client: aio.Client, name: str) -> None:
    queue = aio_client.queue(name)
    for _ in range(20):
        taking = asyncio.create_task(queue.take())
        await asyncio.sleep(0)
        await queue.put("a")
        taking.cancel()
        (delivery,) = await asyncio.gather(taking, return_exceptions=True)
        if isinstance(delivery, asyncio.CancelledError):
            delivery = await comes(queue)
        assert isinstance(delivery, aio.Delivery) and delivery.attempt == 1
        await delivery.ack()


async def test_a_delivery_that_is_forgotten_goes_back(aio_client: aio.Client, name: str) -> None:
    queue = aio_client.queue(name)
    await queue.put("a")
    with pytest.warns(ResourceWarning, match=f"{name}.*its job goes back"):
        await comes(queue)
        gc.collect()
    async with await comes(queue) as delivery:
        assert delivery.attempt == 2


async def test_each_job_is_done_and_acknowledged(
    aio_client: aio.Client, aio_other: aio.Client, name: str
) -> None:
    queue, got = aio_client.queue(name), []

    async def handle(delivery: aio.Delivery) -> None:
        await asyncio.sleep(0)
        got.append(delivery.payload)

    async with queue.consume(handle, concurrency=4) as consumer:
        assert repr(consumer) == f"<libdlock.aio.Consumer of {name!r} concurrency=4>"
        await aio_other.queue(name).put_many([str(n) for n in range(50)])

        async def done() -> bool:
            return len(got) == 50

        await until(done)
    assert {*got} == {str(n).encode() for n in range(50)}
    assert (await queue.counts())[:4] == (0, 0, 0, 0)


async def test_a_job_that_fails_comes_again_after_the_back_off(
    aio_client: aio.Client, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    queue, times = aio_client.queue(name, max_attempts=2), []

    async def handle(delivery: aio.Delivery) -> None:
        times.append(time.monotonic())
        raise LookupError("not yet")

    async def dead() -> bool:
        return (await queue.counts()).dead == 1

    with caplog.at_level(logging.WARNING, "libdlock"):
        async with queue.consume(handle, backoff=Backoff(0.1, 0.1)):
            await queue.put("a", id="a")
            await until(dead)
    assert times[1] - times[0] >= 0.05
    assert caplog.messages == [
        f"job 'a' of queue {name!r} failed in its delivery {attempt}: LookupError" for attempt in (1, 2)
    ]
    (job,) = await queue.dead.list()
    assert job.reason == "LookupError"


async def test_the_text_of_an_exception_is_the_reason_where_asked(aio_client: aio.Client, name: str) -> None:
    queue = aio_client.queue(name, max_attempts=1)

    async def handle(delivery: aio.Delivery) -> None:
        raise LookupError("no route\nto host")

    async def dead() -> bool:
        return (await queue.counts()).dead == 1

    async with queue.consume(handle, reason="text"):
        await queue.put("a")
        await until(dead)
    (job,) = await queue.dead.list()
    assert job.reason == "LookupError: no route\\nto host"


async def test_a_handler_that_raises_after_its_ack_is_told(
    aio_client: aio.Client, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    queue, unseen = aio_client.queue(name), []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: unseen.append(context))

    async def handle(delivery: aio.Delivery) -> None:
        await delivery.ack()
        raise LookupError("too late")

    with caplog.at_level(logging.WARNING, "libdlock"):
        async with queue.consume(handle):
            await queue.put("a", id="a")

            async def told() -> bool:
                return bool(caplog.messages)

            await until(told)
    gc.collect()
    assert caplog.messages == [f"job 'a' of queue {name!r} failed in its delivery 1: LookupError"]
    assert not unseen
    assert (await queue.counts())[:4] == (0, 0, 0, 0)


async def test_a_stop_finishes_what_is_in_hand_and_takes_no_more(aio_client: aio.Client, name: str) -> None:
    queue, begun, go_on = aio_client.queue(name), asyncio.Event(), asyncio.Event()

    async def handle(delivery: aio.Delivery) -> None:
        begun.set()
        await go_on.wait()

    consumer = queue.consume(handle)
    await consumer.start()
    await queue.put_many(["a", "b"])
    await asyncio.wait_for(begun.wait(), 20)
    assert not await consumer.wait(0)
    consumer.request_stop()
    go_on.set()
    assert await consumer.stop() and await consumer.wait()
    assert (await queue.counts())[:4] == (1, 0, 0, 0)
    with pytest.raises(RuntimeError, match="started once"):
        await consumer.start()


async def test_what_is_not_done_within_the_grace_goes_back(aio_client: aio.Client, name: str) -> None:
    queue, begun = aio_client.queue(name, max_attempts=1), asyncio.Event()

    async def handle(delivery: aio.Delivery) -> None:
        begun.set()
        await asyncio.sleep(60)

    consumer = queue.consume(handle, grace=0.05)
    await consumer.start()
    await queue.put("a")
    await asyncio.wait_for(begun.wait(), 20)
    assert not await consumer.stop()
    (job,) = await queue.dead.list()
    assert job.reason == "its consumer stopped"


async def test_a_handler_whose_delivery_is_lost_is_cancelled(
    aio_client: aio.Client, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    # Long enough for the first delivery to reach the handler.
    queue, ended, attempts = aio_client.queue(name, lease=1), asyncio.Event(), []

    async def handle(delivery: aio.Delivery) -> None:
        attempts.append(delivery.attempt)
        if delivery.attempt == 1:
            await asyncio.sleep(60)
        ended.set()

    with caplog.at_level(logging.WARNING, "libdlock"):
        async with queue.consume(handle):
            await queue.put("a", id="a")
            await asyncio.wait_for(ended.wait(), 20)
    assert attempts == [1, 2]
    assert any(f"delivery of job 'a' of queue {name!r} was lost" in message for message in caplog.messages)


async def test_a_handler_that_is_cancelled_by_itself_has_failed(aio_client: aio.Client, name: str) -> None:
    queue = aio_client.queue(name, max_attempts=1)

    async def handle(delivery: aio.Delivery) -> None:
        raise asyncio.CancelledError

    async def dead() -> bool:
        return (await queue.counts()).dead == 1

    async with queue.consume(handle) as consumer:
        await queue.put("a")
        await until(dead)
        assert not await consumer.wait(0), "the consumer goes on"
    (job,) = await queue.dead.list()
    assert job.reason == "CancelledError"


@pytest.mark.parametrize(
    ("handle", "reason"), [(lambda _: [].pop(), "IndexError"), (lambda _: None, "TypeError")]
)
async def test_a_handler_that_gives_nothing_to_await_has_failed(
    aio_client: aio.Client, name: str, handle: Callable[[aio.Delivery], Any], reason: str
) -> None:
    queue = aio_client.queue(name, max_attempts=1)

    async def dead() -> bool:
        return (await queue.counts()).dead == 2

    async with queue.consume(handle) as consumer:
        await queue.put_many(["a", "b"])
        await until(dead)
        assert not await consumer.wait(0), "the consumer goes on"
    assert [job.reason for job in await queue.dead.list()] == [reason, reason]


async def test_what_cannot_be_called_is_no_handler(aio_client: aio.Client, name: str) -> None:
    with pytest.raises(TypeError, match="handler must be a coroutine function, not NoneType"):
        aio_client.queue(name).consume(None)  # type: ignore[arg-type]


async def test_a_handler_may_end_its_delivery_itself(aio_client: aio.Client, name: str) -> None:
    queue, ended = aio_client.queue(name), asyncio.Event()

    async def handle(delivery: aio.Delivery) -> None:
        await delivery.ack()
        await asyncio.sleep(0.05)
        ended.set()

    async with queue.consume(handle):
        await queue.put("a")
        await asyncio.wait_for(ended.wait(), 20)
    assert (await queue.counts())[:4] == (0, 0, 0, 0)


async def test_a_program_that_ends_a_consumers_tasks_ends_it(aio_client: aio.Client, name: str) -> None:
    queue, begun = aio_client.queue(name), asyncio.Event()

    async def handle(delivery: aio.Delivery) -> None:
        begun.set()
        await asyncio.sleep(60)

    consumer = queue.consume(handle, concurrency=2)
    running = asyncio.create_task(consumer.run(signals=()))
    await queue.put("a")
    await asyncio.wait_for(begun.wait(), 20)
    for task in asyncio.all_tasks():
        if task is not asyncio.current_task():
            task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(running, 20)

    async def back() -> (
        bool
    ):  # the other task may have been given it as it was cancelled, and then it goes back again
        return (await queue.counts())[:4] == (1, 0, 0, 0)

    await until(back)


async def test_a_consumer_of_a_closed_client_ends_with_the_error(url: str, name: str) -> None:
    client = await aio.connect(url)

    async def handle(delivery: aio.Delivery) -> None:
        pass

    consumer = client.queue(name).consume(handle)
    await consumer.start()
    await asyncio.sleep(0.01)
    await client.close()
    with pytest.raises(libdlock.Closed):
        await consumer.wait(20)


PROGRAM = """
import asyncio, sys
from libdlock import aio

async def handle(delivery):
    print("begun", delivery.id, flush=True)
    await asyncio.sleep(0.3)
    print("done", delivery.id, flush=True)

async def main():
    async with aio.connect(sys.argv[1]) as client:
        print("finished", await client.queue(sys.argv[2]).consume(handle, grace=20).run(), flush=True)

asyncio.run(main())
"""


def test_a_signal_lets_the_job_in_hand_be_finished(
    python: Python, client: libdlock.Client, url: str, name: str
) -> None:
    if url.startswith("memory"):
        pytest.skip("of this process alone")
    queue = client.queue(name)
    queue.put_many([NewJob("a", id="a"), NewJob("b", id="b")])
    process = python(PROGRAM, url, name)
    assert process.stdout is not None
    assert process.stdout.readline() == "begun a\n"
    process.send_signal(signal.SIGTERM)
    out, err = process.communicate(timeout=30)
    assert (process.returncode, out) == (0, "done a\nfinished True\n"), err
    assert [job.id for job in queue.peek()] == ["b"]


SEVERAL = """
import asyncio, sys
from libdlock import aio

async def main():
    async with aio.connect(sys.argv[1]) as client:
        consumers = [client.queue(sys.argv[2] + str(at)).consume(print) for at in range(3)]
        runs = [asyncio.ensure_future(consumer.run()) for consumer in consumers]
        await asyncio.sleep(0)
        consumers[0].request_stop()  # takes the handler of nobody else away
        await runs[0]
        print("running", flush=True)
        print("finished", await asyncio.gather(*runs), flush=True)

asyncio.run(main())
"""


def test_a_signal_stops_all_consumers_that_run(
    python: Python, client: libdlock.Client, url: str, name: str
) -> None:
    if url.startswith("memory"):
        pytest.skip("of this process alone")
    process = python(SEVERAL, url, name)
    assert process.stdout is not None
    assert process.stdout.readline() == "running\n"
    process.send_signal(signal.SIGTERM)
    out, err = process.communicate(timeout=30)
    assert (process.returncode, out) == (0, "finished [True, True, True]\n"), err


HANDLERS = """
import asyncio, os, signal, sys, uvloop
from libdlock import aio

BOTH = signal.SIGTERM, signal.SIGINT
heard = []

async def hears(number):
    before = len(heard)
    os.kill(os.getpid(), number)
    while len(heard) == before:
        await asyncio.sleep(0.005)

async def main():
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGTERM, heard.append, "of the loop")
    signal.signal(signal.SIGUSR1, lambda *_: heard.append("of the program"))
    numbers = (*BOTH, signal.SIGUSR1)
    before = [signal.getsignal(number) for number in numbers]
    async with aio.connect("memory://") as client:
        for number in (signal.SIGTERM, signal.SIGUSR1):
            runs = [asyncio.ensure_future(client.queue("q").consume(print).run(numbers)) for _ in range(2)]
            await asyncio.sleep(0)
            os.kill(os.getpid(), number)
            print(await asyncio.gather(*runs), heard)
            assert [signal.getsignal(number) for number in numbers] == before
        await hears(signal.SIGTERM)
        await hears(signal.SIGUSR1)
        consumer = client.queue("q").consume(print)
        running = asyncio.ensure_future(consumer.run())
        await asyncio.sleep(0)
        loop.add_signal_handler(signal.SIGINT, heard.append, "set meanwhile")
        consumer.request_stop()
        await running
        await hears(signal.SIGINT)
        print(heard)

loop = asyncio.new_event_loop() if sys.argv[1] == "asyncio" else uvloop.new_event_loop()
loop.run_until_complete(main())
loop.close()
"""


@pytest.mark.parametrize("loop", ["asyncio", "uvloop"])
def test_a_run_gives_the_handlers_of_signals_back(python: Python, loop: str) -> None:
    out, err = python(HANDLERS, loop).communicate(timeout=30)
    assert out.splitlines() == [
        "[True, True] ['of the loop']",
        "[True, True] ['of the loop']",
        str(["of the loop", "of the loop", "of the program", "set meanwhile"]),
    ], err


async def test_a_stop_does_not_wait_for_a_server_that_is_away(proxy: Proxy, name: str) -> None:
    begun = asyncio.Event()

    async def handle(delivery: aio.Delivery) -> None:
        begun.set()
        await asyncio.sleep(20)

    async with aio.connect(proxy.url, operation_timeout=10, response_timeout=0.5) as client:
        queue = client.queue(name)
        await queue.put("a")
        consumer = queue.consume(handle)
        await consumer.start()
        await asyncio.wait_for(begun.wait(), 20)
        proxy.black_hole()
        start = time.monotonic()
        assert not await consumer.stop(grace=0.1)
        # The operation goes on, and has twice as long.
        assert time.monotonic() - start < 5
        proxy.passes_again()
