#!/usr/bin/env python3
"""Counts the instructions of another checkout's workers and of this one's and prints, for each row, the ratio.

    instructions.py OTHER [ROW...]

Where other machines share the host, times differ by more than a change does; instructions differ little. OTHER is as for
compare.py, and so are the names of rows. A worker runs under valgrind's callgrind for a short and for a longer time; the
difference of the two runs, for each time that it did its work, leaves out how it starts and ends. Above 1 this checkout needs
fewer. What cannot be seen so: time in the kernel, and workers whose code is compiled while they run (Node, Java). A caller that
takes connections of its own may take others under valgrind, where all is slow. Standard library only; needs valgrind.
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

from compare import of_checkout
from driver.machine import machine
from driver.programs import BLOCKING, PY, RUST, C, Program
from driver.server import Server
from driver.tables import print_table
from driver.worker import Worker

#: How long a worker runs, in seconds: as often as it manages within the second less the first.
SHORT, LONG = 1.0, 4.0


@dataclass(frozen=True)
class Row:
    """What one program does."""

    name: str
    program: Program
    what: str
    callers: int


def rows() -> list[Row]:
    """All that is counted."""
    return [
        *(Row(f"pairs, 1 caller, {program.name}", program, "pairs", 1) for program in (BLOCKING, RUST, C, PY)),
        *(Row(f"pairs, 64 callers, {program.name}", program, "pairs", 64) for program in (RUST, C)),
        *(Row(f"decisions, 1 caller, {program.name}", program, "decisions", 1) for program in (RUST, C, PY)),
        *(Row(f"decisions, 64 callers, {program.name}", program, "decisions", 64) for program in (RUST, C)),
        *(Row(f"re-entry, {program.name}", program, "reentry", 1) for program in (RUST, BLOCKING, C, PY)),
        *(Row(f"ids, {program.name}", program, "ids", 1) for program in (RUST, C, PY)),
    ]


def counted(row: Row, server: Server, seconds: float) -> tuple[int, int]:
    """The instructions of one run, and how often it did its work."""
    server.clear()
    with tempfile.TemporaryDirectory() as folder:
        counts = Path(folder) / "counts"
        valgrind = ("valgrind", "--tool=callgrind", "--fair-sched=yes", f"--callgrind-out-file={counts}")
        under = replace(row.program, command=(*valgrind, *row.program.command))
        with Worker(under.start(row.what, server, row.callers, seconds)) as worker:
            worker.ready()
            worker.go()
            done = worker.answer()["done"]
        found = re.search(r"^(?:summary|totals): (\d+)", counts.read_text(), re.MULTILINE)
        if not found:
            raise RuntimeError(f"callgrind counted nothing for {row.name}")
        return int(found[1]), done


def each(row: Row, server: Server) -> float:
    """Instructions for each time."""
    (short, before), (long, after) = (counted(row, server, seconds) for seconds in (SHORT, LONG))
    return (long - short) / (after - before)


def main() -> int:
    """Reads the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("other", type=Path, help="the root of the other checkout")
    parser.add_argument("rows", nargs="*", help="parts of the names of rows; all when none is given")
    options = parser.parse_args()
    other = options.other.resolve()
    table = []
    print(machine())
    with Server() as server:
        for row in rows():
            if options.rows and not any(part in row.name for part in options.rows):
                continue
            print(row.name, file=sys.stderr)
            here = each(row, server)
            there = each(replace(row, program=of_checkout(row.program, other)), server)
            table.append([row.name, f"{here:.0f}", f"{there:.0f}", f"{there / here:.3f}"])
    print_table(f"Instructions of the client beside {other}", ["", "here", "there", "ratio"], table)
    return 0


if __name__ == "__main__":
    sys.exit(main())
