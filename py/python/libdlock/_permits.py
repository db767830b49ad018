"""What the semaphores of threads and of tasks share."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SemaphoreInspection:
    """What the server said about a semaphore at one instant; it may have changed since."""

    # <api:semaphore-inspection> written by `python3 api/write.py` from api/records.json
    permits: int | None
    """How many permits there are in all; `None` when the semaphore is not there, which the first acquire changes."""
    available: int
    """How many can be acquired now, those whose lease has run out among them; negative after the number was lowered
    below what is taken.
    """
    queued: int
    """How many processes stand in the queue."""
    # </api:semaphore-inspection>
