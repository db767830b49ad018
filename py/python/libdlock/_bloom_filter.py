"""The Bloom filter for threads."""

from __future__ import annotations

from collections.abc import Iterable

from . import _native
from ._bloom_filters import Item, NamedBloomFilter
from ._greenlets import ask


class BloomFilter(NamedBloomFilter):
    """A Bloom filter of one name, made by `Client.bloom_filter`. May be shared between threads.

    It is made on the server when the first item is added. From then on a filter of another size or with other hashes is
    refused with `WrongType`, which shows both, until it is cleared. One that is not on the server contains nothing.

        users = client.bloom_filter("users", expected=1_000_000, false_positive_rate=0.01)
        users.add(["ada", "grace"])
        known, unknown = users.contains(["ada", "nobody"])
    """

    _label = "libdlock.BloomFilter"

    def add(self, items: Iterable[Item]) -> list[bool]:
        """Adds items, `str` or bytes, 1,000,000 at most; of each whether it is new. False may be a false positive.

        One script adds them all, or one for each 16,384 bits; an error may leave a part of them added. `OutcomeUnknown` when
        a reply was lost and it is unknown which were new: adding them again adds what is missing. `WrongType` when the
        filter on the server has another configuration, and when the keys hold something else. Ctrl-C may leave a part added.
        """
        given = self._items(items)
        new: list[bool] = ask(_native.bloom_filter_add, _native.submit_bloom_filter_add, self._number, given)
        return new

    def contains(self, items: Iterable[Item]) -> list[bool]:
        """Looks for items; of each whether it was added. True may be a false positive, false is certain.

        Errors as `add`, but for `OutcomeUnknown`.
        """
        given = self._items(items)
        found: list[bool] = ask(
            _native.bloom_filter_contains, _native.submit_bloom_filter_contains, self._number, given
        )
        return found

    def count(self) -> int:
        """How many different items were added, as the bits that are set let expect; 2**53 - 1 when all are set.

        The server counts all bits: 50 ms for a filter of 512 MiB. Errors as `contains`.
        """
        count: int = ask(_native.bloom_filter_count, _native.submit_bloom_filter_count, self._number)
        return count

    def false_positive_rate(self) -> float:
        """The rate of false positives now, from 0 of an empty filter to 1 of a full one. Costs and errors as `count`."""
        rate: float = ask(
            _native.bloom_filter_false_positive_rate,
            _native.submit_bloom_filter_false_positive_rate,
            self._number,
        )
        return rate

    def clear(self) -> bool:
        """Removes the filter, whatever configuration it has; false when it was not there."""
        cleared: bool = ask(_native.bloom_filter_clear, _native.submit_bloom_filter_clear, self._number)
        return cleared
