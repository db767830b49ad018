"""The generator of ids in blocks for tasks, with the methods of `libdlock.IdGenerator` as coroutines."""

from __future__ import annotations

from .. import _native
from .._id_generators import NamedIdGenerator
from ._port import running_port


class IdGenerator(NamedIdGenerator):
    """A generator of ids of one name, made by `Client.id_generator`. May be shared between tasks, also of several loops.

    Each id is given out once among all processes. A process takes a block of them at a time and hands them out without
    asking the server; the next block is fetched when a fifth is left. What a process has of a block is lost when its client
    is closed, when its last generator of the name goes, and when it ends: there are gaps.

        orders = client.id_generator("orders")
        order = await orders.next_id()
        lines = await orders.next_ids(100)
    """

    _label = "libdlock.aio.IdGenerator"

    async def next_id(self) -> int:
        """The next id, mostly without asking the server.

        `ConnectionFailed` when none is left and the server did not answer within `operation_timeout`: the call may be
        repeated, and never gets an id that somebody else has. `Unsupported` when the ids are used up, at 2**63 - 1;
        `WrongType` when one of the keys holds something else; `Closed`, `Forked`. When the task is cancelled while it waits,
        that may leave a gap.
        """
        made: int = await running_port().call(_native.submit_id_generator_next_id, self._number)
        return made

    async def next_ids(self, n: int) -> list[int]:
        """The next `n` ids, 1 to 1,000,000, in increasing order, not always without gaps.

        Errors and cancellation as `next_id`; `InvalidArgument` for the number.
        """
        many = self._batch(n)
        made: list[int] = await running_port().call(_native.submit_id_generator_next_ids, self._number, many)
        return made
