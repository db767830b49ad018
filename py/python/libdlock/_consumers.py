"""What the consumers of threads and of tasks share."""

from __future__ import annotations

from typing import ClassVar, Literal, TypeAlias

from ._convert import Seconds, milliseconds, whole
from ._deliveries import DeliveryView, reason_of, text_of
from ._errors import DlockError, NotHeld, refused
from ._jobs import Backoff
from ._log import logger
from ._shown import shown
from ._unheld import UnheldObject

Reason: TypeAlias = Literal["type", "text"]
"""The part of an exception that is kept as the reason of its job: the type, or the text too."""

_REASONS = {"type": reason_of, "text": text_of}
_OP = "consume"
#: How long a consumer waits before it asks again a server that it could not ask.
RETRIES = (0.1, 5.0)
#: The time that a stop waits for jobs that it puts back: when the server is away, that takes as long as an operation.
PUT_BACK = 1.0
_MOST = 10_000


class ConsumerView:
    """Takes jobs of a queue and has a handler do them."""

    _label: ClassVar[str]

    def __init__(
        self, queue: UnheldObject, concurrency: int, backoff: Backoff, grace: Seconds, reason: Reason
    ) -> None:
        name = queue._name
        self._of = queue
        self._concurrency = whole(concurrency, "concurrency", op=_OP, name=name)
        if not 1 <= self._concurrency <= _MOST:
            raise refused(f"concurrency: {self._concurrency} given", f"1 to {_MOST}", op=_OP, name=name)
        if not isinstance(backoff, Backoff):
            raise TypeError(f"backoff must be a Backoff, not {type(backoff).__name__}")
        self._backoff = backoff
        self._retry = Backoff(*RETRIES)
        self._grace = self._seconds(grace)
        if reason not in _REASONS:
            raise refused(f"reason: {reason!r} given", '"type" or "text"', op=_OP, name=name)
        self._reason_of = _REASONS[reason]
        self._failure: BaseException | None = None

    def _seconds(self, grace: Seconds) -> float:
        ms = milliseconds(grace, "grace", op=_OP, name=self._of._name)
        if ms < 0:
            raise refused(f"grace: {grace!r} given", "0 or more seconds", op=_OP, name=self._of._name)
        return ms / 1000

    def _delay_after(self, delivery: DeliveryView, error: BaseException) -> float | None:
        """When a job comes again whose handler raised: what ends the handler and not the job does not delay that."""
        return self._backoff.delay(delivery.attempt) if isinstance(error, Exception) else None

    def _tell_failed(self, delivery: DeliveryView, error: BaseException) -> None:
        logger.warning(
            "job %r of queue %r failed in its delivery %d: %s",
            delivery.id,
            delivery.queue,
            delivery.attempt,
            reason_of(error),
            exc_info=error,
        )

    def _tell_unended(self, delivery: DeliveryView, error: Exception) -> None:
        """Of a job that could not be acknowledged or put back."""
        lost = "was lost" if isinstance(error, NotHeld) else "could not be ended"
        text = "delivery of job %r of queue %r %s, and the job may come again: %s"
        logger.warning(text, delivery.id, delivery.queue, lost, str(error) or f"no answer in {PUT_BACK:g} s")

    def _tell_away(self, error: DlockError, pause: float) -> None:
        text = "no job could be taken from queue %r; the next attempt follows in %.1f s: %s"
        logger.warning(text, self._of._name, pause, str(error))

    @shown
    def __repr__(self) -> str:
        return f"<{self._label} of {self._of._name!r} concurrency={self._concurrency}>"
