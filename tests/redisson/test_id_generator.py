"""Id generators of ours and RIdGenerators of one name take blocks from one number."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import libdlock
import pytest
from redisson import IdHolder, Redisson
from wire import Wire


@pytest.fixture
def them(theirs: Redisson, wire: Wire, name: str) -> Iterator[IdHolder]:
    holder = theirs.ids()
    yield holder
    # A block that was being fetched when the test ended may come behind the first DEL.
    for _ in range(20):
        wire.command("DEL", name, allocation(name))
        time.sleep(0.1)
        if wire.number("EXISTS", name, allocation(name)) == 0:
            break
    holder.end()


def allocation(name: str) -> str:
    return f"{name}:allocation" if "{" in name else f"{{{name}}}:allocation"


def test_both_sides_take_blocks_from_one_number(ours: libdlock.Client, them: IdHolder, wire: Wire, name: str) -> None:
    assert them.init(name, 100, 10)
    ids = ours.id_generator(name, block=7, start=1)
    assert ids.next_id() == 100
    assert ids.block_size == 10, "theirs counts"
    assert them.next(name) == [110]
    assert ids.next_ids(2) == [101, 102]
    assert them.next(name, 9) == list(range(111, 120))
    assert them.next(name) == [120], "their next block"
    assert wire.text("GET", name) == "130"
    assert wire.text("GET", allocation(name)) == "10"


def test_what_ours_has_begun_theirs_goes_on_with(ours: libdlock.Client, them: IdHolder, wire: Wire, name: str) -> None:
    assert ours.id_generator(name, block=20, start=-5).next_id() == -5
    assert not them.init(name, 1, 5_000), "it has a size"
    assert them.next(name, 20) == list(range(15, 35))
    assert wire.text("GET", name) == "35"
    assert wire.number("PTTL", name) == wire.number("PTTL", allocation(name)) == -1


def test_a_generator_that_nobody_has_begun_is_alike(ours: libdlock.Client, them: IdHolder, wire: Wire, name: str) -> None:
    assert them.next(name) == [1]
    begun = [wire.text("GET", name), wire.text("GET", allocation(name))]
    assert them.delete(name)
    assert ours.id_generator(name).next_id() == 1
    assert [wire.text("GET", name), wire.text("GET", allocation(name))] == begun == ["5001", "5000"]


@pytest.mark.parametrize("braces", ["{orders}:7", "a{b}c"])
def test_a_name_with_braces_has_the_same_keys(
    ours: libdlock.Client, them: IdHolder, wire: Wire, name: str, braces: str
) -> None:
    braced = f"{name}{braces}"
    assert them.init(braced, 50, 10)
    assert ours.id_generator(braced).next_id() == 50
    assert them.next(braced) == [60]
    assert wire.number("DEL", braced, allocation(braced)) == 2


def test_ids_beyond_2_to_the_53_are_exact(ours: libdlock.Client, them: IdHolder, name: str) -> None:
    start = 2**62 + 1
    assert them.init(name, start, 3)
    assert ours.id_generator(name).next_ids(4) == [start, start + 1, start + 2, start + 3]
    assert them.next(name) == [start + 6]


def test_no_id_is_given_twice_under_contention(ours: libdlock.Client, them: IdHolder, theirs: Redisson, name: str) -> None:
    ids, others = ours.id_generator(name, block=17), [them, *(theirs.ids() for _ in range(2))]
    made: list[int] = []
    jobs = [threading.Thread(target=lambda one=one: made.extend(one.next(name, 1_000))) for one in others]
    jobs += [threading.Thread(target=lambda: made.extend(ids.next_id() for _ in range(1_000))) for _ in range(3)]
    jobs += [threading.Thread(target=lambda: made.extend(ids.next_ids(1_000)))]
    for job in jobs:
        job.start()
    for job in jobs:
        job.join(60)
    assert len(made) == 7_000
    assert len(set(made)) == 7_000
    for one in others[1:]:
        one.end()


def test_a_lock_of_theirs_under_our_generator_is_told(ours: libdlock.Client, theirs: Redisson, name: str) -> None:
    lock = theirs.thread()
    lock.acquire(name)
    with pytest.raises(libdlock.WrongType):
        ours.id_generator(name).next_id()
    lock.release(name)
