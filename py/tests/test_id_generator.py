"""The generator of ids in blocks, for threads and for tasks."""

from __future__ import annotations

import asyncio
import copy
import threading

import pytest

import libdlock
from conftest import Python, assert_named_elsewhere
from libdlock import aio
from redis_server import RedisServer


def test_ids_count_from_1_and_clients_take_blocks(
    client: libdlock.Client, other: libdlock.Client, name: str
) -> None:
    ids, theirs = client.id_generator(name, block=10), other.id_generator(name, block=7)
    assert (ids.name, repr(ids)) == (name, f"<libdlock.IdGenerator {name!r}>")
    assert (ids.block_size, theirs.block_size) == (10, 7)
    assert (ids.next_id(), theirs.next_id(), ids.next_id()) == (1, 11, 2)
    assert theirs.block_size == 10, "the server knew"
    assert ids.next_ids(3) == [3, 4, 5]
    assert client.id_generator(name).next_id() == 6, "one client, one block"


def test_a_start_is_any_number_of_64_bits(client: libdlock.Client, name: str) -> None:
    assert client.id_generator(name, start=-(2**63)).next_id() == -(2**63)
    last = client.id_generator(name + "-last", start=2**63 - 3, block=2)
    assert last.next_ids(2) == [2**63 - 3, 2**63 - 2]
    with pytest.raises(libdlock.Unsupported, match="used up") as raised:
        last.next_id()
    assert not raised.value.retryable


def test_threads_share_a_generator_and_no_id(client: libdlock.Client, name: str) -> None:
    ids = client.id_generator(name, block=50)
    made: list[int] = []
    threads = [
        threading.Thread(target=lambda: made.extend(ids.next_id() for _ in range(500))) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert sorted(made) == list(range(1, 2_001)), "one process leaves no gap"


def test_wrong_arguments_are_refused(client: libdlock.Client, name: str) -> None:
    for block in (0, -1, 2**53):
        with pytest.raises(libdlock.InvalidArgument, match="1 to 9007199254740991"):
            client.id_generator(name, block=block)
    for wrong in (1.5, "3", None, True):
        with pytest.raises(TypeError):
            client.id_generator(name, block=wrong)  # type: ignore[arg-type]
        with pytest.raises(TypeError):
            client.id_generator(name, start=wrong)  # type: ignore[arg-type]
        with pytest.raises(TypeError):
            client.id_generator(name).next_ids(wrong)  # type: ignore[arg-type]
    ids = client.id_generator(name)
    for count in (0, -1, 1_000_001):
        with pytest.raises(libdlock.InvalidArgument, match="1 to 1000000"):
            ids.next_ids(count)
    with pytest.raises(libdlock.InvalidName):
        client.id_generator("a{")
    with pytest.raises(TypeError):
        copy.copy(ids)
    assert ids.next_id() == 1


@pytest.mark.parametrize(
    ("elsewhere", "here"),
    [
        ("nextId", "`ids.next_id()`"),
        ("nextval", "`ids.next_id()`"),
        ("tryInit", "`client.id_generator(name, block=..., start=...)`"),
        ("allocation_size", "`ids.block_size`"),
    ],
)
def test_what_others_call_it_is_named(client: libdlock.Client, name: str, elsewhere: str, here: str) -> None:
    assert_named_elsewhere(client.id_generator(name), "IdGenerator", elsewhere, here)
    assert not hasattr(client.id_generator(name), "nonsense")


def test_another_kind_of_key_is_refused(client: libdlock.Client, name: str) -> None:
    with client.lock(name), pytest.raises(libdlock.WrongType, match=name):
        client.id_generator(name).next_id()


def test_a_closed_client_gives_no_id(url: str, other: libdlock.Client, name: str) -> None:
    with libdlock.connect(url) as client:
        ids = client.id_generator(name, block=30)
        assert ids.next_id() == 1
    with pytest.raises(libdlock.Closed):
        ids.next_id()
    with pytest.raises(libdlock.Closed):
        client.id_generator(name)


def test_a_block_outlives_the_server(own_server: RedisServer, name: str) -> None:
    with libdlock.connect(own_server.url, operation_timeout=0.3) as client:
        ids = client.id_generator(name, block=20)
        assert ids.next_ids(10) == list(range(1, 11))
        own_server.kill()
        assert ids.next_ids(10) == list(range(11, 21))
        with pytest.raises(libdlock.ConnectionFailed) as raised:
            ids.next_id()
        assert raised.value.retryable


FORK = """
import os, sys
import libdlock

url, name = sys.argv[1:]
client = libdlock.connect(url)
ids = client.id_generator(name, block=10)
assert ids.next_id() == 1
child = os.fork()
if child == 0:
    for call in (ids.next_id, lambda: ids.next_ids(3), lambda: client.id_generator("x")):
        try:
            call()
        except libdlock.Forked:
            continue
        os._exit(3)
    with libdlock.connect(url) as mine:
        made = mine.id_generator(name).next_ids(5)
    # The child has a copy of a memory store, and with it of the number.
    os._exit(0 if made[0] == 11 else 4)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
assert ids.next_ids(4) == [2, 3, 4, 5]
print("done")
"""


def test_a_child_has_no_part_in_a_block(python: Python, url: str, name: str) -> None:
    out, err = python(FORK, url, name).communicate(timeout=60)
    assert out == "done\n", err


async def test_tasks_share_a_generator_and_no_id(
    aio_client: aio.Client, aio_other: aio.Client, name: str
) -> None:
    ids, theirs = aio_client.id_generator(name, block=10), aio_other.id_generator(name)
    assert repr(ids) == f"<libdlock.aio.IdGenerator {name!r}>"

    async def take(of: aio.IdGenerator) -> list[int]:
        return [await of.next_id() for _ in range(50)] + await of.next_ids(50)

    first = await ids.next_id()  # the size of whoever comes first counts
    made = await asyncio.gather(*(take(each) for each in (ids, theirs) for _ in range(10)))
    assert all(some == sorted(some) for some in made)
    every = [first, *(one for some in made for one in some)]
    assert len(set(every)) == len(every) == 2_001
    assert theirs.block_size == 10


async def test_a_cancelled_task_leaves_no_duplicate(aio_client: aio.Client, name: str) -> None:
    ids = aio_client.id_generator(name, block=2)
    every: list[int] = []
    for _ in range(30):
        task = asyncio.create_task(ids.next_ids(5))
        await asyncio.sleep(0)
        task.cancel()
        every += await ids.next_ids(3)
    assert every == sorted(set(every))
