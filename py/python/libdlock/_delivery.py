"""A delivered job for threads."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import Any, TypeVar

from . import _native
from ._convert import Seconds
from ._deliveries import DeliveryView, reason_of
from ._errors import InvalidArgument
from ._greenlets import ask, running
from ._held import Lost

_Self = TypeVar("_Self", bound="Delivery")


class Delivery(DeliveryView):
    """A job that was delivered, made by `Queue.take`. Any thread may end it.

    It is this worker's until `ack`, which removes the job, or `nack`, which puts it back; or until its lease ends, which the
    client renews, and then the job comes again by itself. One that is collected before it was ended goes back, and counts.

        with delivery:
            work(delivery.payload)

    At the end of the block the job is acknowledged; if it raised, it is put back, with the exception's type as the reason. A
    block that ended the delivery itself is left alone.
    """

    _label = "libdlock.Delivery"
    _lost: Lost | None = None

    @property
    def lost(self) -> Lost:
        """The signal that the delivery was lost: the job comes again, and `ack` will raise `NotHeld`."""
        if self._lost is None:
            self._lost = Lost(self._grant)
        return self._lost

    def ack(self) -> None:
        """The job is done: removes it from the queue.

        `NotHeld` when it was ended before, or was lost: then the job comes again, or has come to another worker, and nothing
        of that was touched. `OutcomeUnknown` or `ConnectionFailed` when no reply came within `operation_timeout`: the
        delivery is over all the same, and the job may come again. It works on a server that is full.
        """
        self._end(_native.delivery_ack, _native.submit_delivery_ack, self._handle)

    def nack(self, delay: Seconds | None = None, reason: str = "") -> None:
        """The job is not done: puts it back, due after `delay` seconds, or at once and at its place.

        When it was delivered as often as it may be it is dead, and the dead list shows the reason, of which 1,024 bytes are
        kept. Errors as `ack`; `InvalidArgument` for the delay, and then it is held as before.
        """
        arguments = self._nack(delay, reason)
        try:
            self._end(_native.delivery_nack, _native.submit_delivery_nack, *arguments)
        except InvalidArgument:  # of the delay: nothing was sent
            self._ended = False
            raise

    def give_back(self) -> None:
        """Puts back a job that was not begun, at its place; the delivery does not count. Errors as `ack`."""
        self._end(_native.delivery_give_back, _native.submit_delivery_give_back, self._handle)

    def extend(self, lease: Seconds) -> None:
        """Makes the lease last `lease` from now, or as long as it did if that is longer. `NotHeld` when it is over."""
        ask(_native.held_extend, _native.submit_held_extend, self._handle, self._lease_ms(lease))

    def _end(self, blocking: Callable[..., None], submit: Callable[..., int], *arguments: Any) -> None:
        caller = running()
        self._ended = True
        if caller is None:
            blocking(*arguments)
        else:
            caller.port.finish(submit, *arguments)

    def __enter__(self: _Self) -> _Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._ended:
            return
        if error is None:
            self.ack()
            return
        try:
            self.nack(reason=reason_of(error))
        except BaseException as failed:
            self._end_failed(failed)
