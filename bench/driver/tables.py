"""Tables in Markdown."""

from __future__ import annotations

from collections.abc import Sequence

from .goals import Goal


def print_table(title: str, header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """The first column is text, the others are numbers, unless all of the table is text."""
    widths = [max(len(line[i]) for line in [header, *rows]) for i in range(len(header))]

    def line(cells: Sequence[str]) -> str:
        padded = (
            cell.ljust(width) if i == 0 else cell.rjust(width) for i, (cell, width) in enumerate(zip(cells, widths, strict=True))
        )
        return f"| {' | '.join(padded)} |"

    print(f"\n{title}\n")
    print(line(header))
    print(f"|{'|'.join(['---', *['---:'] * (len(header) - 1)])}|")
    for row in rows:
        print(line(row))


def print_goals(goals: Sequence[Goal]) -> None:
    """Every goal with what was found in this run."""
    print("\n| goal | target | found | reached |\n|---|---|---|---|")
    for goal in goals:
        print(f"| {goal.row} | {goal.target} | {goal.found} | {'yes' if goal.reached else '**no**'} |")
    print(f"\n{sum(goal.reached for goal in goals)} of {len(goals)} goals reached.")
