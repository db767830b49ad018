"""How many permits were held at the same time, by what the holders say themselves."""

from __future__ import annotations

from collections.abc import Iterable


def most_at_once(turns: Iterable[tuple[int, int, int]]) -> int:
    """Each turn begins, ends and has so many permits. What ends when another begins is not counted with it."""
    events = []
    for begin, end, permits in turns:
        events += [(begin, 1, permits), (end, 0, -permits)]
    held = most = 0
    for _, _, change in sorted(events):
        held += change
        most = max(most, held)
    return most
