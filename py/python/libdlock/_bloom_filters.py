"""What the Bloom filters of threads and of tasks share: how they are made, and how items cross."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar, Generic, TypeAlias, TypeVar

from . import _native
from ._convert import Seconds, name_bytes, optional_ms, whole
from ._errors import refused
from ._opened import OpenedClient, of_client
from ._unheld import UnheldObject

Item: TypeAlias = str | bytes | bytearray | memoryview
"""What a filter may contain: bytes, or a text, which counts as its UTF-8."""

_OP = "bloom filter"


class NamedBloomFilter(UnheldObject):
    """A Bloom filter of one name."""

    # What Redisson, Redis' own filters, Guava and Python's sets call it.
    _elsewhere: ClassVar = {
        **dict.fromkeys(("tryInit", "try_init", "reserve"), "`client.bloom_filter(name, expected=..., ...)`"),
        **dict.fromkeys(("put", "insert", "madd", "update"), "`bloom.add(items)`"),
        **dict.fromkeys(("exists", "mexists", "mightContain", "might_contain"), "`bloom.contains(items)`"),
        **dict.fromkeys(("getSize", "bits"), "`bloom.size`"),
        **dict.fromkeys(("getHashIterations", "hash_iterations"), "`bloom.hashes`"),
        **dict.fromkeys(("delete", "discard", "remove"), "`bloom.clear()`: no single item can be removed"),
        **dict.fromkeys(("expire",), "`client.bloom_filter(name, ..., ttl=...)`"),
    }

    def __init__(
        self, client: OpenedClient, name: str, expected: int, false_positive_rate: float, ttl: Seconds | None
    ) -> None:
        of = name_bytes(name, op=_OP)
        items = whole(expected, "expected", op=_OP, name=name)
        if isinstance(false_positive_rate, bool) or not isinstance(false_positive_rate, int | float):
            kind = type(false_positive_rate).__name__
            raise TypeError(f"false_positive_rate must be float, not {kind}")
        ttl_ms = optional_ms(ttl, "ttl", op=_OP, name=name)
        try:
            rate = float(false_positive_rate)
        except OverflowError:
            given = "a false positive rate that no float can be is out of range"
            raise refused(given, "above 0 and below 1", op=_OP, name=name) from None
        super().__init__(client, name, _native.bloom_filter_open(client._number, of, items, rate, ttl_ms))

    @property
    def size(self) -> int:
        """How many bits the filter has: eight times its bytes on the server. Costs no I/O."""
        return _native.bloom_filter_size(self._number)

    @property
    def hashes(self) -> int:
        """How many bits an item has. Costs no I/O."""
        return _native.bloom_filter_hashes(self._number)

    def _items(self, items: Iterable[Item]) -> list[bytes]:
        if isinstance(items, Item):
            kind = type(items).__name__
            raise TypeError(f"items must be an iterable of str or bytes, not one {kind}: give [item]")
        return [self._item(item) for item in items]

    def _item(self, item: Item) -> bytes:
        if isinstance(item, str):
            try:
                return item.encode()
            except UnicodeEncodeError as error:
                given = f"an item has a lone surrogate at position {error.start}"
                raise refused(
                    given, "bytes, or text without lone surrogates", op=_OP, name=self._name
                ) from None
        if isinstance(item, bytes):
            return item
        if isinstance(item, bytearray | memoryview):
            return bytes(item)
        raise TypeError(f"an item must be str or bytes, not {type(item).__name__}")


_B = TypeVar("_B", bound=NamedBloomFilter)


class OpensBloomFilters(OpenedClient, Generic[_B]):
    """A client's way to its Bloom filters."""

    _bloom_filter_class: type[_B]

    @of_client
    def bloom_filter(
        self, name: str, *, expected: int, false_positive_rate: float, ttl: Seconds | None = None
    ) -> _B:
        """The Bloom filter of that name, which is Redisson's `RBloomFilter`. Costs no I/O.

        It is for `expected` items; `false_positive_rate`, above 0 and below 1, is the share of items that were not added and
        are found all the same, once so many were. With `ttl` the filter is gone so long after its first item was added.
        `InvalidArgument` for a filter of more than 4,294,967,294 bits.
        """
        return self._bloom_filter_class(self, name, expected, false_positive_rate, ttl)
