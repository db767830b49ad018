"""A delivered job for tasks, with the methods of `libdlock.Delivery`, of which those that ask the server are coroutines."""

from __future__ import annotations

from types import TracebackType
from typing import TypeVar

from .. import _native
from .._convert import Seconds
from .._deliveries import DeliveryView, reason_of
from .._errors import InvalidArgument
from ._held import Lost
from ._port import running_port

_Self = TypeVar("_Self", bound="Delivery")


class Delivery(DeliveryView):
    """A job that was delivered, made by `Queue.take`. Any task may end it.

    It is this worker's until `ack`, which removes the job, or `nack`, which puts it back; or until its lease ends, which the
    client renews, and then the job comes again by itself. One that is collected before it was ended goes back, and counts.

        async with delivery:
            await work(delivery.payload)

    At the end of the block the job is acknowledged; if it raised, it is put back, with the exception's type as the reason. A
    block that ended the delivery itself is left alone.
    """

    _label = "libdlock.aio.Delivery"
    _lost: Lost | None = None

    @property
    def lost(self) -> Lost:
        """The signal that the delivery was lost: the job comes again, and `ack` will raise `NotHeld`."""
        if self._lost is None:
            self._lost = Lost(self._grant)
        return self._lost

    async def ack(self) -> None:
        """The job is done: removes it from the queue.

        `NotHeld` when it was ended before, or was lost: then the job comes again, or has come to another worker, and nothing
        of that was touched. `OutcomeUnknown` or `ConnectionFailed` when no reply came within `operation_timeout`: the
        delivery is over all the same, and the job may come again. It works on a server that is full. Once begun it is
        carried out, also when the task is cancelled while it waits for the answer.
        """
        self._ended = True
        await running_port().finish(_native.submit_delivery_ack, self._handle)

    async def nack(self, delay: Seconds | None = None, reason: str = "") -> None:
        """The job is not done: puts it back, due after `delay` seconds, or at once and at its place.

        When it was delivered as often as it may be it is dead, and the dead list shows the reason, of which 1,024 bytes are
        kept. Errors and cancellation as `ack`; `InvalidArgument` for the delay, and then it is held as before.
        """
        arguments = self._nack(delay, reason)
        self._ended = True
        try:
            await running_port().finish(_native.submit_delivery_nack, *arguments)
        except InvalidArgument:  # of the delay: nothing was sent
            self._ended = False
            raise

    async def give_back(self) -> None:
        """Puts back a job that was not begun, at its place; the delivery does not count. Errors as `ack`."""
        self._ended = True
        await running_port().finish(_native.submit_delivery_give_back, self._handle)

    async def extend(self, lease: Seconds) -> None:
        """Makes the lease last `lease` from now, or as long as it did if that is longer. `NotHeld` when it is over.

        When the task is cancelled while it waits, the lease may be the old or the new one.
        """
        await running_port().call(_native.submit_held_extend, self._handle, self._lease_ms(lease))

    async def __aenter__(self: _Self) -> _Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._ended:
            return
        if error is None:
            await self.ack()
            return
        try:
            await self.nack(reason=reason_of(error))
        except BaseException as failed:
            self._end_failed(failed)
