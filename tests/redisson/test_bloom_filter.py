"""Bloom filters of ours and RBloomFilters of one name have the same bits."""

from __future__ import annotations

import random
from collections.abc import Iterator

import libdlock
import pytest
from redisson import BloomHolder, Redisson
from wire import Wire

ITEMS = 100_000


@pytest.fixture(params=["texts", "bytes"])
def them(request: pytest.FixtureRequest, theirs: Redisson, wire: Wire, name: str) -> Iterator[BloomHolder]:
    """With `StringCodec`, and with `ByteArrayCodec`."""
    holder = theirs.bloom(request.param)
    yield holder
    for one in (name, f"{name}-theirs"):
        wire.command("DEL", one, config(one))
    holder.end()


@pytest.fixture(autouse=True)
def forgotten(wire: Wire, name: str) -> Iterator[None]:
    """What is remembered of the requests to clear ends by itself, in two minutes."""
    yield
    wire.command("DEL", f"dlock_bloom_done:{{{name}}}")


def config(name: str) -> str:
    return f"{name}:config" if "{" in name else f"{{{name}}}:config"


def filter_of(ours: libdlock.Client, name: str, expected: int = ITEMS, rate: float = 0.01) -> libdlock.BloomFilter:
    return ours.bloom_filter(name, expected=expected, false_positive_rate=rate)


def in_thousands(stop: int) -> Iterator[range]:
    return (range(start, start + 1_000) for start in range(0, stop, 1_000))


def test_both_sides_set_the_same_bits(ours: libdlock.Client, them: BloomHolder, wire: Wire, name: str) -> None:
    seen, other = filter_of(ours, name), f"{name}-theirs"
    new = sum(sum(seen.add([them.item(number) for number in some])) for some in in_thousands(ITEMS))
    assert them.init(other, ITEMS, 0.01)
    assert them.add(other, 0, ITEMS) == new
    assert wire.command("HGETALL", config(name)) == wire.command("HGETALL", config(other))
    assert wire.number("BITOP", "XOR", config(other) + ":xor", name, other) == wire.number("STRLEN", name)
    assert wire.number("BITCOUNT", config(other) + ":xor") == 0, "identical bit strings"
    wire.command("DEL", config(other) + ":xor")


def test_what_theirs_has_added_ours_finds(ours: libdlock.Client, them: BloomHolder, name: str) -> None:
    assert them.init(name, ITEMS, 0.01)
    them.add(name, 0, ITEMS)
    seen = filter_of(ours, name)
    for some in in_thousands(ITEMS):
        items = [them.item(number) for number in some]
        assert all(seen.contains(items))
        assert not any(seen.add(items)), "there is nothing new"
    beyond = [them.item(number) for number in range(ITEMS, 2 * ITEMS)]
    assert them.contains(name, ITEMS, 2 * ITEMS) == sum(seen.contains(beyond))
    assert them.count(name) == seen.count()


def test_what_ours_has_added_theirs_finds(ours: libdlock.Client, them: BloomHolder, name: str) -> None:
    seen = filter_of(ours, name)
    for some in in_thousands(ITEMS):
        seen.add([them.item(number) for number in some])
    assert not them.init(name, ITEMS, 0.01), "it is there"
    assert them.contains(name, 0, ITEMS) == ITEMS
    assert them.add(name, 0, ITEMS) == 0
    assert them.config(name) == [str(seen.size), str(seen.hashes), str(ITEMS), "0.01"]
    assert them.count(name) == seen.count()
    assert them.delete(name)
    assert not any(seen.contains([them.item(0)]))


def test_sizes_and_texts_are_theirs_for_any_filter(theirs: Redisson, ours: libdlock.Client, wire: Wire, name: str) -> None:
    them, chance = theirs.bloom("texts"), random.Random(15)
    for _ in range(300):
        expected, rate = int(10 ** chance.uniform(0, 8)), round(10 ** chance.uniform(-9, -0.05), chance.randrange(2, 14))
        if not 0 < rate < 1:
            continue
        assert them.init(name, expected, rate)
        seen = filter_of(ours, name, expected, rate)
        assert them.config(name)[:2] == [str(seen.size), str(seen.hashes)], (expected, rate)
        wire.command("DEL", config(name))
    # Of large ones, and the text of the rate.
    for expected, rate in ((448_089_842, 0.01), (1_000, 0.001), (1_000, 1e-4), (1_000, 1.25e-7), (3, 0.3)):
        assert them.init(name, expected, rate)
        text = wire.text("HGET", config(name), "falseProbability")
        seen = filter_of(ours, name, expected, rate)
        assert them.config(name)[:2] == [str(seen.size), str(seen.hashes)]
        assert seen.clear()
        if expected < 10_000:
            assert seen.add(["a"]) == [True]
            assert wire.text("HGET", config(name), "falseProbability") == text
            assert seen.clear()
    them.end()


def test_another_configuration_of_theirs_is_refused(theirs: Redisson, ours: libdlock.Client, name: str) -> None:
    them = theirs.bloom("texts")
    assert them.init(name, 1_000, 0.03)
    with pytest.raises(libdlock.WrongType, match=r"for 1000 items at a rate of 0\.03; this one has"):
        filter_of(ours, name).add(["a"])
    assert filter_of(ours, name, 1_000, 0.03).add([them.item(0)]) == [True]
    assert them.contains(name, 0, 1) == 1
    assert them.delete(name)
    them.end()


@pytest.mark.parametrize("braces", ["{seen}:7", "a{b}c"])
def test_a_name_with_braces_has_the_same_keys(
    theirs: Redisson, ours: libdlock.Client, wire: Wire, name: str, braces: str
) -> None:
    them, braced = theirs.bloom("texts"), f"{name}{braces}"
    assert them.init(braced, 1_000, 0.01)
    assert filter_of(ours, braced, 1_000).add([them.item(1)]) == [True]
    assert them.contains(braced, 0, 2) == 1
    assert wire.number("DEL", braced, config(braced)) == 2
    them.end()
