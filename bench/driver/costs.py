"""What an acquire and a release of programs whose callers do not meet have cost, as a table."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from .bench import Run, Runs
from .tables import print_table

HEADER = ["", "callers", "pairs/s", "requests", "in requests", "server CPU", "client CPU"]


def print_costs(caption: str, found: Mapping[int, Runs], names: Iterable[str]) -> None:
    """Of each number of callers a row for each name; medians over the rounds."""
    rows = [row(name, callers, runs) for callers, runs in found.items() for name in names]
    print_table(caption, HEADER, rows)


def row(name: str, callers: int, runs: Runs) -> list[str]:
    times: tuple[Callable[[Run], float], ...] = (
        lambda run: run.requests_us,
        lambda run: run.server_us,
        lambda run: run.client_us,
    )
    return [
        name,
        str(callers),
        f"{runs.median(name, lambda run: run.per_second):.0f}",
        f"{runs.median(name, lambda run: run.requests):.2f}",
        *(f"{runs.median(name, time):.1f} us" for time in times),
    ]
