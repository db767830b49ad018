"""What becomes of an answer that nobody waits for any more."""

from __future__ import annotations

from . import _native
from ._errors import AcquireTimeout, Cancelled, DlockError
from ._log import logger


def let_go(answer: object) -> None:
    """Undoes what an answer that nobody waits for has brought, and tells of a failure that nobody hears of."""
    if isinstance(answer, _native.Grant | _native.Permits | _native.ClientHandle | _native.Delivered):
        answer.undo()
    elif isinstance(answer, list):  # deliveries, or what needs nothing
        for each in answer:
            if not isinstance(each, _native.Delivered):
                break
            each.undo()
    elif isinstance(answer, DlockError) and not isinstance(answer, Cancelled | AcquireTimeout):
        logger.warning("failed, and its caller was cancelled while it waited: %s", str(answer))
