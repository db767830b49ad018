#!/usr/bin/env python3
"""Draws bar charts from the tables that run.py prints: ours beside the peers beside the floor.

    charts.py                  from docs/benchmarks.md into docs/pictures, as they are committed
    charts.py --check          names the charts there that are not what the page says; 1 if there are any
    charts.py FILE FOLDER      from the output of a run, as far as it has the tables

Standard library only.
"""

from __future__ import annotations

import argparse
import re
import sys
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "book"))
from svg import Picture, wide

ROOT = Path(__file__).resolve().parent.parent
PAGE, PICTURES = ROOT / "docs/benchmarks.md", ROOT / "docs/pictures"
OURS = re.compile(r"(?:Rust|C|Python|Node|Java)\b(?!RL)")
WIDTH, EDGE, BAR, ROW = 740, 20, 14, 22

#: A table: its heads, and its rows.
Table = tuple[list[str], list[list[str]]]


@dataclass(frozen=True)
class Panel:
    """One column of a table as bars."""

    column: str
    title: str
    #: Whether less is better.
    less: bool = False


@dataclass(frozen=True)
class Chart:
    """A table as a picture."""

    name: str
    #: The heading above the table; a table of several below it by its first head.
    caption: str
    title: str
    panels: tuple[Panel, ...]
    first: str = ""
    #: Only rows that have this in that column.
    where: tuple[str, str] | None = None

    @property
    def file(self) -> str:
        return f"bench-{self.name}.svg"


CPU = Panel("client CPU", "client CPU for each, us", less=True)
CHARTS = [
    Chart("pairs-1", "Pairs, 1 caller, a lock each", "Acquire and release, 1 caller", (Panel("pairs/s", "pairs/s"), CPU)),
    Chart(
        "pairs-64", "Pairs, 64 callers, a lock each", "Acquire and release, 64 callers", (Panel("pairs/s", "pairs/s"), CPU)
    ),
    Chart(
        "contended-16",
        "One lock, 8 waiters in each process",
        "One lock that 16 processes of 8 callers want",
        (Panel("hand-overs/s", "hand-overs/s"), Panel("p99 wait", "p99 wait, ms", less=True)),
        where=("processes", "16"),
    ),
    Chart(
        "local",
        "One lock, 64 callers in one process",
        "One lock that 64 callers of a process want",
        (Panel("hand-overs/s", "hand-overs/s"), Panel("p99 wait", "p99 wait, ms", less=True)),
    ),
    Chart(
        "handover",
        "From a release to a waiter in another process",
        "From a release to a waiter in another process",
        (Panel("p50", "p50, ms", less=True), Panel("p99", "p99, ms", less=True)),
    ),
    Chart(
        "idle",
        "128 callers of one process wait for one held lock",
        "128 callers that wait for one held lock",
        (Panel("commands/s", "commands/s", less=True), Panel("client CPU", "client CPU, % of a core", less=True)),
    ),
    Chart(
        "decisions-64",
        "Decisions of one rate limiter, 64 callers",
        "Decisions of one rate limiter, 64 callers",
        (Panel("decisions/s", "decisions/s"), CPU),
    ),
    Chart(
        "jobs-64",
        "Jobs of one delayed queue",
        "Jobs put, taken and acknowledged, 64 callers",
        (Panel("jobs/s", "jobs/s"), CPU),
        first="64 callers",
    ),
]


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def table(text: str, chart: Chart) -> Table | None:
    """The chart's table, if the text has it."""
    section = re.search(rf"^### {re.escape(chart.caption)}(?:, .*)?\n(.*?)(?=^##|\Z)", text, re.DOTALL | re.MULTILINE)
    for found in re.findall(r"(?:^\|.*\n)+", section[1] if section else "", re.MULTILINE):
        heads, _, *rows = (cells(line) for line in found.splitlines())
        if heads[0] == chart.first and all(panel.column in heads for panel in chart.panels):
            where = chart.where
            return heads, [row for row in rows if where is None or row[heads.index(where[0])] == where[1]]
    return None


def number(cell: str) -> float:
    """What a cell says, without its unit."""
    found = re.match(r"-?[\d,]+(?:\.\d+)?", cell)
    assert found, f"no number: {cell!r}"
    return float(found[0].replace(",", ""))


def written(value: float) -> str:
    """With as many digits as are worth reading."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def colour(row: str) -> str:
    """Of whom the row is: ours, the floor, or a peer."""
    return "e" if row.startswith("floor") else "a" if OURS.match(row) else "d"


def draw(chart: Chart, found: Table) -> str:
    """The picture."""
    heads, rows = found
    picture = Picture(WIDTH, f"{chart.title}: {', '.join(panel.title for panel in chart.panels)}")
    labels = max(wide(row[0], 12.5) for row in rows) + 12
    room = (WIDTH - 2 * EDGE - labels) / len(chart.panels)
    picture.text(EDGE, 30, chart.title, 15, more="bold")
    top = 78
    for i, panel in enumerate(chart.panels):
        picture.text(
            EDGE + labels + i * room, 56, f"{panel.title} ({'less' if panel.less else 'more'} is better)", 12, "faint"
        )
    for i, row in enumerate(rows):
        y = top + i * ROW
        picture.text(EDGE + labels - 10, y + 4, row[0], 12.5, anchor="end", more="bold" if colour(row[0]) == "a" else "")
    for i, panel in enumerate(chart.panels):
        values = [number(row[heads.index(panel.column)]) for row in rows]
        left, most = EDGE + labels + i * room, max(*values, 1e-9)
        longest = room - 14 - max(wide(written(value), 12) for value in values) - 8
        for j, (row, value) in enumerate(zip(rows, values, strict=True)):
            y = top + j * ROW
            length = max(longest * value / most, 1.5)
            picture.box(left, y - BAR / 2, length, BAR, fill=colour(row[0]), edge="", r=2)
            picture.text(left + length + 6, y + 4, written(value), 12)
    y, x = top + len(rows) * ROW + 12, float(EDGE)
    for name, who in (("a", "libdlock"), ("d", "peers"), ("e", "floor: the same scripts over bare sockets")):
        if any(colour(row[0]) == name for row in rows):
            picture.box(x, y - 9, 12, 12, fill=name, edge="", r=2)
            picture.text(x + 18, y + 1, who, 12, "faint")
            x += 18 + wide(who, 12) + 22
    return picture.render()


def charts(text: str) -> dict[str, str]:
    """The files that a text has the tables for."""
    return {chart.file: draw(chart, found) for chart in CHARTS if (found := table(text, chart))}


def main() -> int:
    """Reads the command line, and draws or checks."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tables", nargs="?", type=Path, default=PAGE, help="the page, or the output of a run")
    parser.add_argument("folder", nargs="?", type=Path, default=PICTURES, help="where the charts go")
    parser.add_argument("--check", action="store_true", help="compare only")
    options = parser.parse_args()
    folder: Path = options.folder
    folder.mkdir(parents=True, exist_ok=True)
    changed = 0
    for name, picture in charts(options.tables.read_text()).items():
        path = folder / name
        if path.exists() and path.read_text() == picture:
            continue
        changed += 1
        if options.check:
            print(f"{path} is not what the tables say: run `python3 bench/charts.py` and commit the result")
        else:
            path.write_text(picture)
            print(f"wrote {path}")
    return int(options.check and changed > 0)


if __name__ == "__main__":
    sys.exit(main())
