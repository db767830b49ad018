"""Ids without a server. The same for threads and for tasks: nothing here waits for I/O."""

from __future__ import annotations

from dataclasses import astuple, dataclass
from typing import Literal, TypeAlias, TypeVar

from . import _native
from ._convert import Seconds, milliseconds, optional_ms, utf8, whole

_Self = TypeVar("_Self", bound="Snowflake")

LayoutName: TypeAlias = Literal["default", "twitter", "js53"]
"""The layouts that have a name: libdlock's own, Twitter's, and one of 53 bits for JavaScript's numbers."""


@dataclass(frozen=True, slots=True)
class Parts:
    """What an id says about itself."""

    time_ms: int
    """When it was made, in milliseconds since 1970."""
    datacenter: int
    """The datacenter's number."""
    worker: int
    """The worker's number."""
    sequence: int
    """Sequence number within the millisecond, from 0."""


@dataclass(frozen=True, slots=True)
class Layout:
    """Which bits of an id hold what: from the highest, time, datacenter, worker, sequence; 63 together at most."""

    epoch_ms: int
    """When time began, in milliseconds since 1970."""
    time_bits: int
    datacenter_bits: int
    worker_bits: int
    sequence_bits: int

    @classmethod
    def named(cls, name: LayoutName) -> Layout:
        """The layout of that name."""
        return cls(*_native.layout_named(utf8(name, "layout", op="layout")))

    def decode(self, id: int) -> Parts:
        """Takes an id of this layout apart."""
        return Parts(*_native.layout_decode(_carried(self), whole(id, "id", op="decode")))


class Snowflake(_native.Generator):
    """Makes ids of 63 bits that grow with time and that no two workers ever share, without asking anybody.

    A datacenter and worker number belongs to one process at a time: two processes with the same one make duplicates, and
    nothing can see it. A successor must also start after all that its predecessor made: when the clock was set back since
    that *started*, wait for as long, or take another number; likewise for what `borrow_ahead` borrowed. Generators of one
    identity share their state within a process, as far as that has one copy of this library. May be shared between threads;
    a forked child makes its own, under a number of its own.

    Where numbers need not be given, lease one: `Client.worker`.

    `InvalidArgument` for numbers that do not fit the layout. `ClockError` when the clock was set back since an earlier
    generator of this identity and does not come up within `start_wait` (1 s, up to 60 s), for which this blocks. With
    `borrow_ahead`, up to 0.01 s, ids run so far ahead of the clock rather than wait for the next millisecond.
    """

    __slots__ = ()

    # `next_id` is the native base's, so that an id costs one native call.

    def __new__(
        cls: type[_Self],
        datacenter: int,
        worker: int,
        *,
        layout: Layout | LayoutName | None = None,
        borrow_ahead: Seconds = 0,
        start_wait: Seconds | None = None,
    ) -> _Self:
        op = "snowflake"
        if isinstance(layout, str):
            layout = Layout.named(layout)
        return super().__new__(
            cls,
            whole(datacenter, "datacenter", op=op),
            whole(worker, "worker", op=op),
            None if layout is None else _carried(layout),
            milliseconds(borrow_ahead, "borrow_ahead", op=op),
            optional_ms(start_wait, "start_wait", op=op),
            None,
        )

    @classmethod
    def _under(cls: type[_Self], held: int, layout: Layout | LayoutName | None) -> _Self:
        """One for a worker number, by the handle of its hold."""
        if isinstance(layout, str):
            layout = Layout.named(layout)
        return super().__new__(cls, 0, 0, None if layout is None else _carried(layout), 0, None, held)

    def next_ids(self, count: int) -> list[int]:
        """The next `count` ids in increasing order, 1 to 1,000,000.

        Blocks for as long as the layout makes it take: 1 ms for every 4,096 of the default one.
        """
        return self._next_ids(whole(count, "count", op="next ids"))

    def decode(self, id: int) -> Parts:
        """Takes an id of this generator's layout apart."""
        return Parts(*self._decode(whole(id, "id", op="decode")))

    @property
    def layout(self) -> Layout:
        """The layout of this generator's ids."""
        return Layout(*self._layout())

    @staticmethod
    def encode(id: int, base: int) -> str:
        """Writes an id in base 10, 32, 36, 58 or 62."""
        return _native.id_encode(whole(id, "id", op="encode"), whole(base, "base", op="encode"))

    @staticmethod
    def parse(text: str, base: int) -> int:
        """Reads what `encode` wrote in the same base."""
        written = utf8(text, "id", op="parse").encode()
        return _native.id_parse(written, whole(base, "base", op="parse"))


def _carried(layout: Layout) -> tuple[int, int, int, int, int]:
    if not isinstance(layout, Layout):
        raise TypeError(f"layout must be a Layout or a name of one, not {type(layout).__name__}")
    epoch, time, datacenter, worker, sequence = (
        whole(value, "layout", op="layout") for value in astuple(layout)
    )
    return epoch, time, datacenter, worker, sequence
