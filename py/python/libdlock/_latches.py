"""What the latches of threads and of tasks share: how they are made."""

from __future__ import annotations

from typing import ClassVar, Generic, TypeVar

from . import _native
from ._convert import Seconds, name_bytes, optional_ms, whole
from ._opened import OpenedClient, of_client
from ._unheld import UnheldObject

_WAIT_OP = "wait for latch"


class NamedLatch(UnheldObject):
    """A latch of one name."""

    # What events, barriers, and the latches of Java and C++ call it.
    _elsewhere: ClassVar = {
        **dict.fromkeys(("is_set", "isSet", "try_wait"), "`latch.wait(timeout=0)`"),
        **dict.fromkeys(("set", "countDown", "arrive"), "`latch.count_down()`"),
        **dict.fromkeys(("getCount", "get_count", "remaining", "n_waiting"), "`latch.count()`"),
        **dict.fromkeys(("trySetCount", "set_count"), "`latch.try_set_count(n)`"),
        **dict.fromkeys(("clear", "reset"), "a latch of another name: each is for one round"),
        **dict.fromkeys(("arrive_and_wait",), "`latch.count_down()` and `latch.wait()`"),
        **dict.fromkeys(("await_", "acquire"), "`latch.wait(timeout)`"),
        **dict.fromkeys(("remove", "abort"), "`latch.delete()`"),
    }

    def __init__(self, client: OpenedClient, name: str) -> None:
        handle = _native.latch_open(client._number, name_bytes(name, op="latch"))
        super().__init__(client, name, handle)

    def _count(self, n: int, op: str) -> int:
        return whole(n, "n", op=op, name=self._name)

    def _wait_ms(self, timeout: Seconds | None) -> int | None:
        return optional_ms(timeout, "timeout", op=_WAIT_OP, name=self._name)


_L = TypeVar("_L", bound=NamedLatch)


class OpensLatches(OpenedClient, Generic[_L]):
    """A client's way to its latches."""

    _latch_class: type[_L]

    @of_client
    def latch(self, name: str) -> _L:
        """The count-down latch of that name. Costs no I/O. It is open until `try_set_count` gives it a count."""
        return self._latch_class(self, name)
