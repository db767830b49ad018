"""What the deliveries of threads and of tasks share: the job, and how its hold stands."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import ClassVar, NoReturn, SupportsIndex

from . import _native
from ._convert import Seconds, milliseconds, optional_ms
from ._elsewhere import SaysElsewhere
from ._errors import DlockError, InvalidArgument
from ._hold import is_going_on
from ._jobs import encoded, time_of
from ._log import logger
from ._opened import not_copied
from ._shown import shown
from ._unheld import UnheldObject

#: Of a job whose consumer stopped before it was done.
STOPPED = "its consumer stopped"


class DeliveryView(SaysElsewhere):
    """A job that was delivered. Reading it costs no I/O."""

    _label: ClassVar[str]

    # What rq, Celery, SQS and AMQP call it.
    _elsewhere: ClassVar = {
        **dict.fromkeys(("body", "data", "args", "message"), "`delivery.payload`"),
        **dict.fromkeys(("delete", "done", "complete", "task_done"), "`delivery.ack()`"),
        **dict.fromkeys(("retry", "release", "reject", "requeue"), "`delivery.nack(delay)`"),
        **dict.fromkeys(("touch", "change_visibility"), "`delivery.extend(lease)`"),
        **dict.fromkeys(("retries", "receive_count", "delivery_count"), "`delivery.attempt`"),
    }

    def __init__(self, queue: UnheldObject, delivered: _native.Delivered) -> None:
        self._queue = queue  # keeps the client open
        self._delivered = delivered
        self._grant = delivered.grant  # kept: with it goes the handle, and the job goes back
        self._handle = self._grant.handle
        self._ended = False
        self._process = os.getpid()

    @property
    def payload(self) -> bytes:
        """What was put."""
        return self._delivered.payload

    @property
    def id(self) -> str:
        """The id of the job."""
        return self._delivered.id

    @property
    def queue(self) -> str:
        """The name of its queue, without the client's key prefix."""
        return self._queue._name

    @property
    def attempt(self) -> int:
        """Which delivery of the job this is, from 1 on."""
        return self._delivered.attempt

    @property
    def due(self) -> datetime:
        """When the job was due, by the server's clock."""
        return time_of(self._delivered.due_ms)

    @property
    def priority(self) -> int:
        """The priority with which it was put."""
        return self._delivered.priority

    @property
    def token(self) -> int:
        """The fencing token: larger than that of any earlier delivery of this queue, below 2**53."""
        return self._grant.token

    @property
    def ended(self) -> bool:
        """Whether `ack`, `nack` or `give_back` was called."""
        return self._ended

    @property
    def valid(self) -> bool:
        """Whether the job is still this worker's for certain, on this machine's monotonic clock."""
        return _native.held_valid(self._handle)

    @property
    def remaining(self) -> float:
        """Seconds for which it stays valid without another renewal; 0.0 when it is over."""
        return _native.held_remaining(self._handle)

    def _nack(self, delay: Seconds | None, reason: str) -> tuple[int, int | None, bytes]:
        """What the core takes."""
        if not isinstance(reason, str):
            raise TypeError(f"a reason must be str, not {type(reason).__name__}")
        name = self._queue._name
        ms = optional_ms(delay, "delay", op="nack", name=name)
        return self._handle, ms, encoded(reason, "reason", name, "nack")

    def _lease_ms(self, lease: Seconds) -> int:
        return milliseconds(lease, "lease", op="extend", name=self._queue._name)

    def _end_failed(self, error: BaseException) -> None:
        """For the end of a `with` whose body raised too: the body's exception is the one to see."""
        if not isinstance(error, Exception):
            raise error
        logger.warning("a job could not be put back, and comes again when its lease is over: %s", str(error))

    def __del__(self) -> None:
        # Not built completely, ended, or the copy that a fork made: nothing of ours to tell of.
        if getattr(self, "_ended", True) or self._process != os.getpid() or self._queue._client.closed:
            return
        try:
            going_on = is_going_on(self._grant)
        except DlockError:  # it reached nobody, and has gone back already
            return
        if going_on:
            text = f"{self!r} collected before it was ended: its job goes back"
            # With the object: neither a record of the warning nor the frame of one that is raised may keep that.
            del self
            warnings.warn(text, ResourceWarning, stacklevel=2)

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        raise not_copied(self)

    @shown
    def __repr__(self) -> str:
        delivered = self._delivered
        return f"<{self._label} {self._queue._name!r} id={delivered.id!r} attempt={delivered.attempt}>"


@contextmanager
def acknowledged(given: Iterable[DeliveryView], kind: type[DeliveryView]) -> Iterator[list[int]]:
    """The handles of deliveries that end in the block; when that refuses them, they go on as before."""
    if isinstance(given, DeliveryView) or not isinstance(given, Iterable):
        text = (
            f"deliveries must be an iterable of deliveries, not one {type(given).__name__}: give [delivery]"
        )
        raise TypeError(text)
    deliveries = list(given)
    for delivery in deliveries:
        if not isinstance(delivery, kind):
            of = delivery._label if isinstance(delivery, DeliveryView) else type(delivery).__name__
            raise TypeError(f"ack_many takes deliveries, each a {kind._label}, not {of}")
    going_on = [delivery for delivery in deliveries if not delivery._ended]
    for delivery in going_on:
        delivery._ended = True
    try:
        yield [delivery._handle for delivery in deliveries]
    except InvalidArgument:  # nothing was sent
        for delivery in going_on:
            delivery._ended = False
        raise


def reason_of(error: BaseException) -> str:
    """Why a job failed: the exception's type, whose text may be anything."""
    return type(error).__name__


def text_of(error: BaseException) -> str:
    """Why a job failed: the exception's type and its text."""
    try:
        text = str(error).encode(errors="backslashreplace").decode()
    except Exception:  # a text that cannot be had is none
        text = ""
    return f"{reason_of(error)}: {text}" if text else reason_of(error)
