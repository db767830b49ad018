#!/usr/bin/env python3
"""Measures another checkout of libdlock beside this one and prints, for each row, the ratio of this one to the other.

    compare.py OTHER [--rounds N] [ROW...]

OTHER is the root of a checkout in which `bench/run.sh --quick` has built the workers, as it has here. A row is chosen by a part
of its name. In every round each row is run in both checkouts, one right after the other on one private redis-server and in
turned order from round to round, so that both see the same machine; a ratio is the median of the rounds' ratios, above 1 when
this checkout is faster or needs less. Beside it stand the lowest and the highest ratio: a row is only told as worse when its
median is more than 3 % below 1. Standard library only.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from driver.bench import Bench, run
from driver.machine import machine
from driver.programs import BLOCKING, JVM, OURS, PY, RUST, WITH_BLOCKING, C, Program
from driver.server import ROOT, Server
from driver.tables import print_table
from sections.contended import contend
from sections.handover import take_turns

#: How much of a row may be lost to noise.
TOLERATED = 0.03

#: Figures of one run, by what they are; of each of them more is better.
Figures = dict[str, float]
Measurement = Callable[[Program, Server], Figures]

#: What most figures are.
EACH_SECOND = "a second"


@dataclass(frozen=True)
class Row:
    """What one program does."""

    name: str
    program: Program
    measure: Measurement


def rate(what: str, callers: int) -> Measurement:
    """How often a second."""
    return lambda program, server: {EACH_SECOND: run(program, what, server, callers, 1.0).per_second}


def rate_and_cpu(what: str, callers: int) -> Measurement:
    """How often a second, and how often for each second of the client's processor time."""

    def measure(program: Program, server: Server) -> Figures:
        found = run(program, what, server, callers, 1.0)
        return {EACH_SECOND: found.per_second, "a second of client CPU": 1e6 / max(found.client_us, 1e-9)}

    return measure


def grants(processes: int, callers: int, options: str = "") -> Measurement:
    """Hand-overs of one lock a second."""
    return lambda program, server: {EACH_SECOND: contend(program, server, processes, callers, 1.5, options).waits.per_second}


def hand_over(program: Program, server: Server) -> Figures:
    """Hand-overs between two processes that would follow one another in a second."""
    return {EACH_SECOND: 1e3 / statistics.median(take_turns(program, server, 1.0))}


def rows() -> list[Row]:
    """All that is compared."""
    return [
        *(Row(f"pairs, 1 caller, {program.name}", program, rate_and_cpu("pairs", 1)) for program in WITH_BLOCKING),
        *(Row(f"pairs, 64 callers, {program.name}", program, rate("pairs", 64)) for program in WITH_BLOCKING),
        *(Row(f"decisions, 1 caller, {program.name}", program, rate("decisions", 1)) for program in OURS),
        *(Row(f"decisions, 64 callers, {program.name}", program, rate("decisions", 64)) for program in OURS),
        *(Row(f"re-entry, {program.name}", program, rate("reentry", 1)) for program in (RUST, BLOCKING, C, JVM, PY)),
        *(Row(f"one lock, 64 callers, {program.name}", program, grants(1, 64)) for program in OURS),
        *(Row(f"one lock, {n} x 8, no cohort", RUST, grants(n, 8, "strict_fifo=true")) for n in (4, 16)),
        *(Row(f"one lock, {n} x 8, cohort", RUST, grants(n, 8)) for n in (4, 16)),
        *(Row(f"hand-over between processes, {program.name}", program, hand_over) for program in OURS),
        *(Row(f"ids, {program.name}", program, rate("ids", 1)) for program in (RUST, C, PY)),
    ]


def of_checkout(program: Program, other: Path) -> Program:
    """The same program as the other checkout has built it."""
    command = tuple(part.replace(str(ROOT), str(other)) for part in program.command)
    return replace(program, command=command)


def compare(row: Row, other: Path, server: Server, turned: bool) -> tuple[Figures, Figures]:
    """One round of a row: the figures of this checkout and of the other."""
    programs = [row.program, of_checkout(row.program, other)]
    found = [row.measure(program, server) for program in (reversed(programs) if turned else programs)]
    return (found[1], found[0]) if turned else (found[0], found[1])


def main() -> int:
    """Reads the command line; 1 when a row is worse."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("other", type=Path, help="the root of the other checkout")
    parser.add_argument("rows", nargs="*", help="parts of the names of rows; all when none is given")
    parser.add_argument("--rounds", type=int, default=5, help="how often everything is run (5)")
    options = parser.parse_intermixed_args()
    other = options.other.resolve()
    chosen = [row for row in rows() if not options.rows or any(part in row.name for part in options.rows)]
    bench = Bench(quick=False)
    found: dict[tuple[str, str], list[tuple[float, float]]] = {}
    print(machine())
    with Server() as server:
        for number in range(options.rounds):
            for row in chosen:
                bench.say(f"round {number + 1}, {row.name}")
                ours, theirs = compare(row, other, server, turned=number % 2 == 1)
                for figure, here in ours.items():
                    found.setdefault((row.name, figure), []).append((here, theirs[figure]))
    table, worse = [], []
    for (name, figure), pairs in found.items():
        ratios = sorted(ours / theirs for ours, theirs in pairs)
        median = statistics.median(ratios)
        table.append(
            [
                name,
                figure,
                *(f"{statistics.median(side):.0f}" for side in zip(*pairs, strict=True)),
                f"{median:.3f}",
                f"{ratios[0]:.2f} to {ratios[-1]:.2f}",
            ]
        )
        if median < 1 - TOLERATED:
            worse.append(f"{name} ({figure})")
    print_table(f"This checkout beside {other}", ["", "how often", "here", "there", "ratio", "of the rounds"], table)
    print(f"worse by more than {TOLERATED:.0%}: {', '.join(worse) or 'none'}")
    return 1 if worse else 0


if __name__ == "__main__":
    sys.exit(main())
