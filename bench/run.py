#!/usr/bin/env python3
"""Measures libdlock beside the floor and the peers, and prints tables and what of the goals was reached.

    run.py [--quick] [SECTION...]

Sections: pairs tls cluster quorum reentry contended unequal permits sides latch lock_all local handover held idle lost
decisions algorithms keys tokens ids id_blocks bloom jobs due_jobs; all of them when none is named.
Within a section every program runs once in each round, one after the other on one private redis-server, so that the
programs share whatever the machine is going through; the tables have medians over the rounds, and the ratios are
medians of the ratios within a round.
Standard library only.
"""

from __future__ import annotations

import argparse
import sys
import time
import traceback
from datetime import datetime, timezone

from driver.bench import Bench
from driver.goals import Goal
from driver.machine import machine
from driver.tables import print_goals
from sections import (
    algorithms,
    bloom,
    cluster,
    contended,
    decisions,
    due_jobs,
    handover,
    held,
    id_blocks,
    idle,
    ids,
    jobs,
    keys,
    latch,
    local,
    lock_all,
    lost,
    pairs,
    permits,
    quorum,
    reentry,
    sides,
    tls,
    tokens,
    unequal,
)

SECTIONS = {
    "pairs": pairs.measure,
    "tls": tls.measure,
    "cluster": cluster.measure,
    "quorum": quorum.measure,
    "reentry": reentry.measure,
    "contended": contended.measure,
    "unequal": unequal.measure,
    "permits": permits.measure,
    "sides": sides.measure,
    "latch": latch.measure,
    "lock_all": lock_all.measure,
    "local": local.measure,
    "handover": handover.measure,
    "held": held.measure,
    "idle": idle.measure,
    "lost": lost.measure,
    "decisions": decisions.measure,
    "algorithms": algorithms.measure,
    "keys": keys.measure,
    "tokens": tokens.measure,
    "ids": ids.measure,
    "id_blocks": id_blocks.measure,
    "bloom": bloom.measure,
    "jobs": jobs.measure,
    "due_jobs": due_jobs.measure,
}


def main() -> None:
    """Reads the command line, measures, prints."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sections", nargs="*", choices=[[], *SECTIONS], help="what to measure")
    parser.add_argument("--quick", action="store_true", help="everything once and short, to see that it runs")
    options = parser.parse_args()
    bench = Bench(options.quick)
    names = options.sections or list(SECTIONS)
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    print(f"- {datetime.now(timezone.utc):%Y-%m-%d %H:%M} UTC; sections: {' '.join(names)}")
    print(machine())
    if bench.quick:
        print("- a quick run: its figures say nothing")
    began = time.monotonic()
    goals: list[Goal] = []
    failed = []
    for name in names:
        # One that fails does not take the figures of the others along.
        try:
            goals += SECTIONS[name](bench)
        except Exception:
            traceback.print_exc()
            failed.append(name)
    if goals:
        print_goals(goals)
    print(f"\nThis took {time.monotonic() - began:.0f} s, without building.")
    if failed:
        sys.exit(f"failed: {' '.join(failed)}")


if __name__ == "__main__":
    main()
