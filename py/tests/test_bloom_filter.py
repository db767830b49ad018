"""The Bloom filter, for threads and for tasks."""

from __future__ import annotations

import copy
from datetime import timedelta

import pytest

import libdlock
from conftest import assert_named_elsewhere
from libdlock import aio


def test_what_was_added_is_found_by_every_client(
    client: libdlock.Client, other: libdlock.Client, name: str
) -> None:
    ours = client.bloom_filter(name, expected=1_000, false_positive_rate=0.01)
    theirs = other.bloom_filter(name, expected=1_000, false_positive_rate=0.01)
    assert (ours.name, repr(ours)) == (name, f"<libdlock.BloomFilter {name!r}>")
    assert (ours.size, ours.hashes) == (9_585, 7)
    assert ours.add(["ada", "grace", b"ada", ""]) == [True, True, False, True]
    assert theirs.contains(["nobody", memoryview(b"grace"), bytearray(b"ada")]) == [False, True, True]
    assert theirs.add(item for item in ("é", "é".encode())) == [True, False]
    assert ours.count() == 4
    assert 0 < ours.false_positive_rate() < 1e-10
    assert ours.add([]) == ours.contains([]) == []
    assert ours.clear() and not theirs.clear()
    assert theirs.contains(["ada"]) == [False]


def test_another_configuration_is_refused_until_it_is_cleared(client: libdlock.Client, name: str) -> None:
    first = client.bloom_filter(name, expected=1_000, false_positive_rate=0.01)
    second = client.bloom_filter(name, expected=2_000, false_positive_rate=0.01)
    first.add(["a"])
    with pytest.raises(
        libdlock.WrongType, match=r"9585 bits and 7 hashes.*19170 bits and 7 hashes"
    ) as raised:
        second.contains(["a"])
    assert not raised.value.retryable
    assert second.clear()
    assert second.add(["a"]) == [True]


def test_a_filter_with_a_ttl_ends(client: libdlock.Client, name: str) -> None:
    seen = client.bloom_filter(name, expected=10, false_positive_rate=0.1, ttl=timedelta(milliseconds=1))
    seen.add(["a"])
    while seen.contains(["a"]) == [True]:
        pass
    assert seen.count() == 0


def test_wrong_arguments_are_refused(client: libdlock.Client, name: str) -> None:
    def filter_of(
        expected: object = 10, rate: object = 0.1, ttl: object = None, name: str = name
    ) -> libdlock.BloomFilter:
        return client.bloom_filter(name, expected=expected, false_positive_rate=rate, ttl=ttl)  # type: ignore[arg-type]

    for expected in (0, -1, 2**53):
        with pytest.raises(libdlock.InvalidArgument, match="1 to 9007199254740991"):
            filter_of(expected)
    for rate in (0, 1, -0.1, float("nan"), float("inf"), 10**400):
        with pytest.raises(libdlock.InvalidArgument, match="above 0 and below 1"):
            filter_of(rate=rate)
    for ttl in (0, -1, 4e9):
        with pytest.raises(libdlock.InvalidArgument, match="1 ms to 100 years"):
            filter_of(ttl=ttl)
    with pytest.raises(libdlock.InvalidArgument, match="4294967294 bits"):
        filter_of(2**32)
    for wrong in ("3", True, [1]):
        for given in ({"expected": wrong}, {"rate": wrong}, {"ttl": wrong}):
            with pytest.raises(TypeError):
                filter_of(**given)  # type: ignore[arg-type]
    seen = filter_of()
    for items in ("text", b"bytes", [1], [None], 5):
        with pytest.raises(TypeError):
            seen.add(items)  # type: ignore[arg-type]
        with pytest.raises(TypeError):
            seen.contains(items)  # type: ignore[arg-type]
    with pytest.raises(libdlock.InvalidArgument, match="lone surrogate"):
        seen.add(["\ud800"])
    with pytest.raises(libdlock.InvalidName):
        filter_of(name="a{")
    with pytest.raises(TypeError):
        copy.copy(seen)


def test_a_batch_of_more_than_a_million_items_is_refused() -> None:
    # On one backend: what takes time is to carry the items into the core, which refuses them before it asks anybody.
    with libdlock.connect("memory://") as client:
        seen = client.bloom_filter("seen", expected=10, false_positive_rate=0.1)
        with pytest.raises(libdlock.InvalidArgument, match="0 to 1000000"):
            seen.add(["a"] * 1_000_001)


@pytest.mark.parametrize(
    ("elsewhere", "here"),
    [
        ("tryInit", "`client.bloom_filter(name, expected=..., ...)`"),
        ("mightContain", "`bloom.contains(items)`"),
        ("expire", "`client.bloom_filter(name, ..., ttl=...)`"),
    ],
)
def test_what_others_call_it_is_said(client: libdlock.Client, name: str, elsewhere: str, here: str) -> None:
    seen = client.bloom_filter(name, expected=10, false_positive_rate=0.1)
    assert_named_elsewhere(seen, "BloomFilter", elsewhere, here)


async def test_tasks_have_the_same_filter(aio_client: aio.Client, name: str) -> None:
    seen = aio_client.bloom_filter(name, expected=1_000, false_positive_rate=0.01)
    assert await seen.add(["a", b"b"]) == [True, True]
    assert await seen.contains(["a", "c"]) == [True, False]
    assert await seen.count() == 2
    assert 0 < await seen.false_positive_rate() < 1e-10
    assert await seen.clear() and not await seen.clear()
    with pytest.raises(TypeError):
        await seen.add("a")
