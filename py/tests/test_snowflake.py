"""Ids: the vectors, uniqueness over threads, forks, and how fast they are."""

from __future__ import annotations

import json
import threading
import time
from typing import Any

import pytest

import libdlock
from conftest import VECTORS, Python, ended

IDS: dict[str, list[dict[str, Any]]] = json.loads((VECTORS / "snowflake.json").read_text())
BASES = (10, 32, 36, 58, 62)


def test_named_layouts() -> None:
    for row in IDS["layouts"]:
        assert libdlock.Layout.named(row["name"]) == libdlock.Layout(
            **{k: v for k, v in row.items() if k != "name"}
        )
        assert libdlock.Snowflake(0, 1, layout=row["name"]).layout == libdlock.Layout.named(row["name"])
    assert libdlock.Snowflake(0, 1).layout == libdlock.Layout.named("default")
    with pytest.raises(libdlock.InvalidArgument, match="js53"):
        libdlock.Layout.named("sonyflake")  # type: ignore[arg-type]


@pytest.mark.parametrize("row", IDS["decode"], ids=lambda row: row["why"])
def test_ids_taken_apart(row: dict[str, Any]) -> None:
    given: Any = row["layout"]
    named = isinstance(given, str)
    layout = libdlock.Layout.named(given) if named else libdlock.Layout(**given)
    expected = libdlock.Parts(*(row[key] for key in ("time_ms", "datacenter", "worker", "sequence")))
    assert layout.decode(int(row["id"])) == expected


@pytest.mark.parametrize("row", IDS["decode_refused"], ids=lambda row: row["id"])
def test_ids_that_are_none(row: dict[str, Any]) -> None:
    layout = row["layout"]
    with pytest.raises(libdlock.InvalidArgument, match=row["id"]):
        libdlock.Layout.named(layout).decode(int(row["id"]))
    with pytest.raises(libdlock.InvalidArgument, match=row["id"]):
        libdlock.Snowflake(0, 2, layout=layout).decode(int(row["id"]))


@pytest.mark.parametrize("row", IDS["layouts_refused"], ids=lambda row: row["why"])
def test_layouts_that_are_refused(row: dict[str, Any]) -> None:
    layout = libdlock.Layout(**row["layout"])
    with pytest.raises(libdlock.InvalidArgument):
        libdlock.Snowflake(0, 0, layout=layout)
    with pytest.raises(libdlock.InvalidArgument):
        layout.decode(0)


def test_texts() -> None:
    for row in IDS["text"]:
        for base in BASES:
            assert libdlock.Snowflake.encode(int(row["id"]), base) == row[f"base{base}"]
            assert libdlock.Snowflake.parse(row[f"base{base}"], base) == int(row["id"])
    for row in IDS["parse"]:
        assert libdlock.Snowflake.parse(row["text"], row["base"]) == int(row["id"])
    for row in IDS["parse_refused"]:
        with pytest.raises(libdlock.InvalidArgument):
            libdlock.Snowflake.parse(row["text"], row["base"])
    for base in (0, 1, 2, 16, 64, -1, 2**70):
        with pytest.raises(libdlock.InvalidArgument):
            libdlock.Snowflake.encode(1, base)
    with pytest.raises(libdlock.InvalidArgument):
        libdlock.Snowflake.parse("\ud800", 62)


def test_an_id_says_when_where_and_by_whom() -> None:
    before = time.time_ns() // 1_000_000
    ids = libdlock.Snowflake(3, 7)
    parts = ids.decode(ids.next_id())
    assert (parts.datacenter, parts.worker) == (3, 7)
    assert before - 1 <= parts.time_ms <= time.time_ns() // 1_000_000 + 1


def test_one_by_one_and_in_batches_they_grow() -> None:
    ids = libdlock.Snowflake(1, 1)
    made = [ids.next_id() for _ in range(10_000)] + ids.next_ids(10_000) + [ids.next_id()] + ids.next_ids(1)
    assert made == sorted(set(made))
    assert all(0 < each < 2**63 for each in made)
    small = libdlock.Snowflake(0, 1, layout="js53").next_ids(1_000)
    assert max(small) < 2**53


def test_threads_and_generators_of_one_identity_make_no_duplicates() -> None:
    batches: list[list[int]] = []

    def one_by_one() -> None:
        ids = libdlock.Snowflake(2, 2)
        batches.append([ids.next_id() for _ in range(50_000)])

    def at_once() -> None:
        batches.append(libdlock.Snowflake(2, 2).next_ids(50_000))

    threads = [threading.Thread(target=make) for make in (one_by_one, at_once) * 2]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(batch == sorted(batch) for batch in batches)
    assert len({each for batch in batches for each in batch}) == 200_000


@pytest.mark.parametrize("count", [0, -1, 1_000_001, 2**63, 10**30])
def test_batches_that_are_refused(count: int) -> None:
    with pytest.raises(libdlock.InvalidArgument, match=str(count)):
        libdlock.Snowflake(0, 3).next_ids(count)


@pytest.mark.parametrize(
    ("datacenter", "worker", "layout"),
    [(32, 0, None), (0, 32, None), (-1, 0, None), (0, -1, None), (1, 0, "js53"), (2**70, 0, None)],
)
def test_numbers_that_do_not_fit_the_layout(datacenter: int, worker: int, layout: Any) -> None:
    with pytest.raises(libdlock.InvalidArgument, match=f"{datacenter or worker}"):
        libdlock.Snowflake(datacenter, worker, layout=layout)


def test_times_that_do_not_fit_the_layout() -> None:
    future = libdlock.Layout(253_402_300_799_999, 41, 5, 5, 12)
    over = libdlock.Layout(0, 10, 5, 5, 12)
    for layout in (future, over):
        with pytest.raises(libdlock.ClockError):
            libdlock.Snowflake(0, 0, layout=layout)
    for ahead in (0.011, -1, -0.0001):
        with pytest.raises(libdlock.InvalidArgument):
            libdlock.Snowflake(0, 4, borrow_ahead=ahead)
    for wait in (61, -1, -0.001, -0.0001):
        with pytest.raises(libdlock.InvalidArgument):
            libdlock.Snowflake(0, 4, start_wait=wait)


def test_wrong_types() -> None:
    for wrong in (1.0, "1", None, True):
        with pytest.raises(TypeError):
            libdlock.Snowflake(wrong, 0)  # type: ignore[arg-type]
        with pytest.raises(TypeError):
            libdlock.Snowflake(0, 5).next_ids(wrong)  # type: ignore[arg-type]
        with pytest.raises(TypeError):
            libdlock.Snowflake.encode(wrong, 10)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="Layout"):
        libdlock.Snowflake(0, 5, layout=(1, 2))  # type: ignore[arg-type]


def test_borrowing_ahead_makes_a_burst_quicker() -> None:
    def burst(ahead: float) -> float:
        """Seconds for the ids of ten milliseconds."""
        ids = libdlock.Snowflake(4, 4, borrow_ahead=ahead)
        began = time.monotonic()
        made = ids.next_ids(4096 * 10)
        took = time.monotonic() - began
        assert made == sorted(set(made))
        return took

    # Eight milliseconds at least pass between the first id and the last, unless they are borrowed.
    without = min(burst(0) for _ in range(3))
    assert any(burst(0.01) < without / 2 for _ in range(20))


def test_a_fork_ends_a_generator(python: Python) -> None:
    program = """
import os, libdlock
ids = libdlock.Snowflake(1, 1)
ids.next_id()
pid = os.fork()
if pid == 0:
    for call in (ids.next_id, lambda: ids.next_ids(3), lambda: ids.decode(5), lambda: ids.layout):
        try:
            call()
        except libdlock.Forked:
            continue
        os._exit(1)
    mine = libdlock.Snowflake(1, 2)
    os._exit(0 if mine.decode(mine.next_id()).worker == 2 else 2)
assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
ids.next_id()
print("done")
"""
    assert ended(python(program)) == "done\n"


def test_how_fast_they_are() -> None:
    """A million a second one by one, where a look at the clock takes 50 ns: this machine may be slower, now or always."""
    ids, count = libdlock.Snowflake(5, 5), 200_000
    next_id = ids.next_id
    best = min(seconds(lambda: [next_id() for _ in range(count)]) for _ in range(5))
    clock = min(seconds(lambda: [time.monotonic_ns() for _ in range(count)]) for _ in range(5))
    assert best < clock * 20
    batch = min(seconds(lambda: ids.next_ids(count)) for _ in range(5))
    assert batch < clock * 20 / 4.09


def seconds(work: Any) -> float:
    began = time.thread_time()
    work()
    return time.thread_time() - began
