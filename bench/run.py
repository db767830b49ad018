#!/usr/bin/env python3
"""Measures every language beside the floor and redis-benchmark, and prints tables.

    run.py [--what pairs,decisions,ids] [--rounds N] [--seconds S] [--callers 1,64] [--json FILE]

Every round runs every program once, one after the other on one private redis-server, so that the programs share whatever the
machine is going through; the tables have medians over the rounds, and the ratios are medians of the ratios within a round.
CPU is the process's, user and system, from /proc; script calls are the server's own count. Standard library only.
"""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict
from pathlib import Path

from measure import PrivateRedis, Result
from programs import ID_WORK, machine, programs
from table import print_ids, print_table


def main() -> None:
    """Reads the command line, measures, prints."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--what", default="pairs,decisions,ids")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=1.5, help="of each run")
    parser.add_argument("--callers", default="1,64")
    parser.add_argument("--json", default="", help="also write every single run here")
    options = parser.parse_args()
    sizes: list[tuple[str, int]] = []
    for what in options.what.split(","):
        sizes += (
            [(each, 1) for each in ID_WORK] if what == "ids" else [(what, int(size)) for size in options.callers.split(",")]
        )
    results: dict[tuple[str, int], dict[str, list[Result]]] = {size: {} for size in sizes}
    print(machine())
    print(f"medians of {options.rounds} rounds, {options.seconds} s each")
    with PrivateRedis() as server:
        for number in range(1, options.rounds + 1):
            print(f"round {number}", file=sys.stderr, flush=True)
            for what, callers in sizes:
                for name, run in programs(what, callers, options.seconds).items():
                    results[what, callers].setdefault(name, []).append(run(server))
    for (what, callers), by_program in results.items():
        if what not in ID_WORK:
            print_table(what, callers, by_program)
    if ("ids", 1) in results:
        print_ids(results["ids", 1], results["batches", 1])
    print(
        "\nA pair is one lock and one unlock; everything but the first column is for each pair or decision. redis-benchmark can"
        "\nrepeat the acquire alone; two of them are counted as a pair."
    )
    if options.json:
        every = {
            f"{what}, {callers}": {name: [asdict(run) for run in runs] for name, runs in by_program.items()}
            for (what, callers), by_program in results.items()
        }
        Path(options.json).write_text(json.dumps(every, indent=1) + "\n")


if __name__ == "__main__":
    main()
