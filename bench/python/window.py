"""How long callers waited for a lock that many want: gathered while it is measured, and told as a histogram."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Sequence

#: Before a window is counted, all processes are at work; it begins so many seconds after the start.
WARM_UP = 0.5


class Window:
    """One caller's share of a run: holds that began within the window count, all others only keep the lock wanted."""

    def __init__(self, begun: float, seconds: float) -> None:
        self._from, self._to = begun + WARM_UP, begun + WARM_UP + seconds
        self.waits: list[float] = []
        self.all = 0

    def goes_on(self, asked: float) -> bool:
        """Whether there is time for another hold that was asked for then."""
        return asked < self._to

    def granted(self, asked: float) -> None:
        """A hold was asked for then, and granted now."""
        now = time.monotonic()
        self.all += 1
        if self._from <= now < self._to:
            self.waits.append(now - asked)


def told(windows: Sequence[Window], seconds: float) -> dict[str, object]:
    """What all callers of the process have gathered; their waits in buckets of which 32 double the time: 2**(n/32) ns."""
    waits = [wait for window in windows for wait in window.waits]
    buckets = Counter(round(32 * math.log2(max(wait * 1e9, 1))) for wait in waits)
    return {
        "done": len(waits),
        "seconds": seconds,
        "all": sum(window.all for window in windows),
        "waited": sum(waits),
        "waits": sorted(buckets.items()),
    }
