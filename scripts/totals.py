#!/usr/bin/env python3
"""Runs groups of tests one after the other and ends with one line of totals that is really summed from their runners.

    scripts/totals.py GROUP=COMMAND [GROUP=COMMAND ...]

A group fails when its command exits non-zero or when it says that something failed; a group in which no test ran has failed
too, because silence is how a broken runner looks. Every group runs, whatever the others did. Counted are the closing lines of
cargo test, pytest, node:test and Maven's surefire, and the plain `N passed, N failed[, N skipped]`.
"""

from __future__ import annotations

import re
import subprocess
import sys
import time
from dataclasses import dataclass

CARGO = re.compile(r"^test result: \w+\. (\d+) passed; (\d+) failed; (\d+) ignored;")
PYTEST = re.compile(
    r"^=+ (?P<counts>.*\b(?:passed|failed|error|errors|skipped|deselected|no tests ran)\b.*) in [\d.]+s.* =+$"
)
PLAIN = re.compile(r"^(?:\w+: )?(\d+) passed, (\d+) failed(?:, (\d+) skipped)?$")
# Surefire's line for a whole module; the ones for each class go on with the time.
SUREFIRE = re.compile(r"^(?:\[\w+\] )?Tests run: (\d+), Failures: (\d+), Errors: (\d+), Skipped: (\d+)$")
# node:test closes with a line for each outcome: `# pass 3` as TAP; for people it has an i in a circle.
NODE = re.compile("^[#\N{INFORMATION SOURCE}] (pass|fail|cancelled|skipped|todo) (\\d+)$")
COLOUR = re.compile(r"\x1b\[[0-9;]*m")


@dataclass
class Counts:
    """What a runner said about its tests."""

    passed: int = 0
    failed: int = 0
    skipped: int = 0

    def __iadd__(self, other: Counts) -> Counts:
        self.passed += other.passed
        self.failed += other.failed
        self.skipped += other.skipped
        return self

    def __str__(self) -> str:
        return f"{self.passed} passed, {self.failed} failed, {self.skipped} skipped"


def read(line: str) -> Counts | None:
    """The counts in a runner's closing line, or None for any other line."""
    line = COLOUR.sub("", line).strip()
    if found := CARGO.match(line) or PLAIN.match(line):
        return Counts(*(int(group or 0) for group in found.groups()))
    if found := PYTEST.match(line):
        words = {word.rstrip("s"): int(n) for n, word in re.findall(r"(\d+) (\w+)", found["counts"])}
        failed = words.get("failed", 0) + words.get("error", 0)
        return Counts(words.get("passed", 0) + words.get("xfailed", 0), failed, words.get("skipped", 0))
    if found := SUREFIRE.match(line):
        ran, failures, errors, skipped = (int(group) for group in found.groups())
        return Counts(ran - failures - errors - skipped, failures + errors, skipped)
    if found := NODE.match(line):
        outcome, number = found[1], int(found[2])
        if outcome == "pass":
            return Counts(passed=number)
        return Counts(failed=number) if outcome in ("fail", "cancelled") else Counts(skipped=number)
    return None


def run(name: str, command: str) -> Counts:
    """Runs one group, its output passed on as it comes."""
    print(f"\n=== {name}: {command}", flush=True)
    counts = Counts()
    process = subprocess.Popen(["bash", "-c", command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert process.stdout is not None
    for raw in process.stdout:
        sys.stdout.buffer.write(raw)
        sys.stdout.buffer.flush()
        if found := read(raw.decode(errors="replace")):
            counts += found
    status = process.wait()
    if status != 0 and counts.failed == 0:
        print(f"--- {name} exited with {status}", flush=True)
        counts.failed += 1
    elif status == 0 and counts == Counts():
        print(f"--- {name} ran no test", flush=True)
        counts.failed += 1
    return counts


def main(arguments: list[str]) -> int:
    """Runs all groups; 0 when nothing failed."""
    total = Counts()
    summary = []
    for argument in arguments:
        name, _, command = argument.partition("=")
        begun = time.monotonic()
        counts = run(name, command)
        seconds = time.monotonic() - begun
        # Not in the form of a closing line: nobody who adds those up shall count this group twice.
        print(f"=== {name}: {counts} ({seconds:.0f} s)", flush=True)
        summary.append((name, counts, seconds))
        total += counts
    print()
    for name, counts, seconds in summary:
        print(f"    {name:<12} {seconds:>5.0f} s   {counts}")
    print(f"    {'all':<12} {sum(seconds for _, _, seconds in summary):>5.0f} s")
    print(total, flush=True)
    return 1 if total.failed or not total.passed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
