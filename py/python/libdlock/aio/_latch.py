"""The count-down latch for tasks, with the methods of `libdlock.Latch` as coroutines."""

from __future__ import annotations

from .. import _native
from .._convert import Seconds
from .._latches import NamedLatch
from ._port import running_port


class Latch(NamedLatch):
    """A count-down latch of one name, made by `Client.latch`. May be shared between tasks, also of several loops.

    Callers wait until a count has come down to zero. A latch that is not on the server is open, so `try_set_count` comes
    first. It is for one round: give each round a name of its own.

        ready = client.latch("deploy-7/ready")
        await ready.try_set_count(2)
        # in each of the two processes that start:
        await ready.count_down()
        # in all that wait for them:
        await ready.wait()
    """

    _label = "libdlock.aio.Latch"

    async def try_set_count(self, n: int) -> bool:
        """Gives the latch this count, 1 to 2**53 - 1, if it is open; `False`, and nothing changed, when it has one.

        The count stays on the server until it is counted down or deleted. `InvalidArgument` for the number, `WrongType` when
        the key holds something else, `OutcomeUnknown` when no repeat could find out what became of a request, `OutOfMemory`
        when the server is full, `ConnectionFailed` and its kin when it cannot be asked. When the task is cancelled while it
        waits, it may be set or not.
        """
        count = self._count(n, "set count")
        done: bool = await running_port().call(_native.submit_latch_try_set_count, self._number, count)
        return done

    async def count_down(self, n: int = 1) -> int:
        """Counts down by `n`, or by what is left if that is less; what is left then, 0 when the latch is open.

        It counts once, also when the reply is lost and the request is sent again. A latch that is open stays so. Errors as
        `try_set_count`, but for `OutOfMemory`: it works on a server that is full. When the task is cancelled while it waits,
        it may have counted or not.
        """
        by = self._count(n, "count down")
        left: int = await running_port().call(_native.submit_latch_count_down, self._number, by)
        return left

    async def count(self) -> int:
        """The count now, 0 when the latch is open."""
        count: int = await running_port().call(_native.submit_latch_count, self._number)
        return count

    async def wait(self, timeout: Seconds | None = None) -> bool:
        """Waits until the latch is open, `timeout` seconds at most; whether it was open then.

        `None` waits for ever, 0 asks once; `InvalidArgument` for less. Without a timeout `ConnectionFailed` when the server
        did not answer for `operation_timeout`; with one, when the time is over and it did not answer last. `WrongType` when
        the key holds something else; `Closed` when the client is closed meanwhile. Cancelling the task changes nothing.
        """
        opened: bool = await running_port().call(
            _native.submit_latch_wait, self._number, self._wait_ms(timeout)
        )
        return opened

    async def delete(self) -> bool:
        """Removes the latch; `False` when it was not there.

        A latch that is not there is open, but nobody is told: those that wait find out within `poll_interval`. Errors and
        cancellation as `count_down`.
        """
        was_there: bool = await running_port().call(_native.submit_latch_delete, self._number)
        return was_there
