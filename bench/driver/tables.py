"""Tables in Markdown."""

from __future__ import annotations

from collections.abc import Sequence

from .goals import Goal


def print_table(caption: str, header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """The first column is text, and so is one that is called "lacks"; the others are numbers."""
    text = [i == 0 or title == "lacks" for i, title in enumerate(header)]
    widths = [max(len(line[i]) for line in [header, *rows]) for i in range(len(header))]

    def line(cells: Sequence[str]) -> str:
        padded = (
            cell.ljust(width) if left else cell.rjust(width) for cell, width, left in zip(cells, widths, text, strict=True)
        )
        return f"| {' | '.join(padded)} |"

    print(f"\n### {caption}\n")
    print(line(header))
    print(f"|{'|'.join('---' if left else '---:' for left in text)}|")
    for row in rows:
        print(line(row))


def print_goals(goals: Sequence[Goal]) -> None:
    """Every goal with what was found in this run."""
    print("\n### Goals\n\n| goal | target | found | reached |\n|---|---|---|---|")
    for goal in goals:
        print(f"| {goal.row} | {goal.target} | {goal.found} | {'yes' if goal.reached else '**no**'} |")
    print(f"\n{sum(goal.reached for goal in goals)} of {len(goals)} goals reached.")
