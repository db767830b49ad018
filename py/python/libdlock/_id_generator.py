"""The generator of ids in blocks for threads."""

from __future__ import annotations

from . import _native
from ._greenlets import ask
from ._id_generators import NamedIdGenerator


class IdGenerator(NamedIdGenerator):
    """A generator of ids of one name, made by `Client.id_generator`. May be shared between threads.

    Each id is given out once among all processes. A process takes a block of them at a time and hands them out without
    asking the server; the next block is fetched when a fifth is left. What a process has of a block is lost when its client
    is closed, when its last generator of the name goes, and when it ends: there are gaps.

        orders = client.id_generator("orders")
        order = orders.next_id()
        lines = orders.next_ids(100)
    """

    _label = "libdlock.IdGenerator"

    def next_id(self) -> int:
        """The next id, mostly without asking the server.

        `ConnectionFailed` when none is left and the server did not answer within `operation_timeout`: the call may be
        repeated, and never gets an id that somebody else has. `Unsupported` when the ids are used up, at 2**63 - 1;
        `WrongType` when one of the keys holds something else; `Closed`, `Forked`. Ctrl-C may leave a gap.
        """
        made: int = ask(_native.id_generator_next_id, _native.submit_id_generator_next_id, self._number)
        return made

    def next_ids(self, n: int) -> list[int]:
        """The next `n` ids, 1 to 1,000,000, in increasing order, not always without gaps.

        Errors as `next_id`; `InvalidArgument` for the number.
        """
        many = self._batch(n)
        made: list[int] = ask(
            _native.id_generator_next_ids, _native.submit_id_generator_next_ids, self._number, many
        )
        return made
