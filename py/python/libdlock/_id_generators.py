"""What the id generators of threads and of tasks share: how they are made."""

from __future__ import annotations

from typing import ClassVar, Generic, TypeVar

from . import _native
from ._convert import name_bytes, whole
from ._opened import OpenedClient, of_client
from ._unheld import UnheldObject

_OP = "id generator"

#: How many ids a block has if nobody says otherwise, as Redisson's.
_BLOCK = 5_000


class NamedIdGenerator(UnheldObject):
    """A generator of ids in blocks, of one name."""

    # What sequences, counters, and the generators of Redisson and of libdlock without a server call it.
    _elsewhere: ClassVar = {
        **dict.fromkeys(
            ("nextId", "nextval", "next", "incr", "get_id", "increment_and_get"), "`ids.next_id()`"
        ),
        **dict.fromkeys(("nextIds", "take", "fill"), "`ids.next_ids(n)`"),
        **dict.fromkeys(
            ("tryInit", "try_init", "start"), "`client.id_generator(name, block=..., start=...)`"
        ),
        **dict.fromkeys(("block", "allocation_size", "allocationSize"), "`ids.block_size`"),
    }

    def __init__(self, client: OpenedClient, name: str, block: int, start: int) -> None:
        of = name_bytes(name, op=_OP)
        size = whole(block, "block", op=_OP, name=name)
        first = whole(start, "start", op=_OP, name=name)
        super().__init__(client, name, _native.id_generator_open(client._number, of, size, first))

    @property
    def block_size(self) -> int:
        """How many ids a block has: what the server said with the last one, and `block` before the first. Costs no I/O."""
        return _native.id_generator_block_size(self._number)

    def _batch(self, n: int) -> int:
        return whole(n, "n", op="next ids", name=self._name)


_G = TypeVar("_G", bound=NamedIdGenerator)


class OpensIdGenerators(OpenedClient, Generic[_G]):
    """A client's way to its generators of ids."""

    _id_generator_class: type[_G]

    @of_client
    def id_generator(self, name: str, *, block: int = _BLOCK, start: int = 1) -> _G:
        """The generator of ids of that name: numbers that the server counts, each given out once. Costs no I/O.

        `block`, 1 to 2**53 - 1, is how many a process takes at a time, and `start` the first of all. Both count only where
        the server knows none: `block_size` says what does.
        """
        return self._id_generator_class(self, name, block, start)
