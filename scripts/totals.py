#!/usr/bin/env python3
"""Runs groups of tests and ends with one line of totals that is really summed from their runners.

    scripts/totals.py [--first COMMAND] GROUP=COMMAND [GROUP=COMMAND ...] [/ GROUP=COMMAND ...]

Groups run one after the other. What stands behind a `/` is a lane of its own and runs beside the others: most tests wait for a
lease or a server, not for a processor. With more than one lane the output of a group is shown when the group has ended. The
first command builds what several lanes need; when it fails, nothing else runs.

A group fails when its command exits non-zero or when it says that something failed; a group in which no test ran has failed
too, because silence is how a broken runner looks. Every group runs, whatever the others did. Counted are the closing lines of
cargo test, pytest, node:test and Maven's surefire, and the plain `N passed, N failed[, N skipped]`. What failed is named again
at the end, and in the file that TOTALS_REPORT names: the output above it may have a hundred thousand lines.

A group that has built what it needs prints a line `--- built`: the processor time until then is that of building, the rest
that of testing. Both count processes that have ended: a server that a test leaves behind is not in it. The table at the end has
them beside the wall time, and before it come each group's ten longest tests.

TOTALS_AGAIN=N is for a machine that others use as well: a group in which 1 to N tests failed runs once more, by itself, when all
others have ended. In a command with `{only}`, the names of the tests that failed take its place, and no other test runs. Both
runs are shown. If the second one passes, the group has passed, and what failed in the first is named at the end and in
TOTALS_REPORT as unsteady: a defect of the test or of the product that somebody has to find.

TOTALS_BRIEF=1 is for a run whose output is read afterwards, from its end and perhaps cut: a group that passed prints its totals
only, and one that failed prints the lines that follow each failure, then its last lines.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

CARGO = re.compile(r"^test result: \w+\. (\d+) passed; (\d+) failed; (\d+) ignored;")
PYTEST = re.compile(
    r"^=+ (?P<counts>.*\b(?:passed|failed|error|errors|skipped|deselected|no tests ran)\b.*) in [\d.]+s.* =+$"
)
PLAIN = re.compile(r"^(?:\w+: )?(\d+) passed, (\d+) failed(?:, (\d+) skipped)?$")
# Surefire's line for a whole module; the ones for each class go on with the time.
SUREFIRE = re.compile(r"^(?:\[\w+\] )?Tests run: (\d+), Failures: (\d+), Errors: (\d+), Skipped: (\d+)$")
# node:test closes with a line for each outcome: `# pass 3` as TAP; for people it has an i in a circle.
NODE = re.compile("^[#\N{INFORMATION SOURCE}] (pass|fail|cancelled|skipped|todo) (\\d+)$")
# How a runner names a test that failed: pytest and lint.sh, cargo test, node:test, surefire, repeat.sh (which marks with a bar
# what its command said).
FAILURE = re.compile(
    r"^(?:\| )?(?:(?:FAILED|ERROR) +\S|---- .* stdout ----$|\u2716 |not ok |\[ERROR\] .*<<< (?:FAILURE|ERROR)!|run \d+ FAILED)"
)
#: How long one test took, in seconds or, in node:test's lines, in milliseconds: pytest with --durations, cargo test with
#: --report-time, node:test, surefire (of a class), and this project's own scripts.
DURATION = re.compile(
    r"^(?:(?P<pytest>[\d.]+)s (?:call|setup|teardown) +(?P<pytest_name>\S.*)"
    r"|test (?P<cargo_name>\S.*) \.\.\. \w+ <(?P<cargo>[\d.]+)s>"
    r"|\u2714 (?P<node_name>.+) \((?P<node>[\d.]+)ms\)"
    r"|(?:\[\w+\] )?Tests run: .*, Time elapsed: (?P<surefire>[\d.]+) s(?: <<< \w+!)? -{1,2} in (?P<surefire_name>\S+)"
    r"|# (?P<own_name>.+): (?P<own>[\d.]+) s)$"
)
BUILT = "--- built"
# The runners that take names of tests, and how they name one that failed: pytest and cargo test.
ONE_TEST = re.compile(r"^(?:FAILED (?P<pytest>\S+::.+?)(?: - .*)?$|---- (?P<cargo>.+) stdout ----$)")
# Where pytest begins to tell of one test.
DETAILS = re.compile(r"^_{3,} .+ _{3,}$")
NAMED = 20  # of a group at most: a broken build fails everything
AFTER_FAILURE = 40  # lines that a brief run shows of each failure
AGAIN_SECONDS = 1200  # groups that took longer than this together do not all run again as a whole
LONGEST = 10  # tests of a group that are named with their time
LAST = 60  # lines that a brief run shows of the end of a group that failed
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


def names_failure(line: str) -> str | None:
    """A line in which a runner names a test that failed, as it is to be repeated at the end; None for any other line."""
    line = COLOUR.sub("", line).strip()
    return line[:300] if FAILURE.match(line) else None


def duration(line: str) -> tuple[str, float] | None:
    """The test that a line tells the time of, and its seconds; None for any other line."""
    found = DURATION.match(COLOUR.sub("", line).strip())
    if not found:
        return None
    (runner,) = (name for name in ("pytest", "cargo", "node", "surefire", "own") if found[name])
    return found[f"{runner}_name"][:150], float(found[runner]) / (1000 if runner == "node" else 1)


def processor_seconds(pid: int) -> float:
    """Processor time that a process and its children that have ended took so far."""
    with open(f"/proc/{pid}/stat", "rb") as file:
        fields = file.read().rpartition(b") ")[2].split()
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")


def excerpt(lines: list[str]) -> list[str]:
    """What a brief run shows of a failed group: the lines after each failure (of the first `NAMED`), and the last ones."""
    starts = [at for at, line in enumerate(lines) if names_failure(line) or DETAILS.match(COLOUR.sub("", line).strip())]
    shown = set(range(max(0, len(lines) - LAST), len(lines)))
    for at in starts[:NAMED]:
        shown.update(range(at, min(at + AFTER_FAILURE, len(lines))))
    taken: list[str] = []
    for at in sorted(shown):
        if at > 0 and at - 1 not in shown:
            taken.append("[...]")
        taken.append(lines[at])
    return taken


@dataclass
class Group:
    """How the run of one group ended."""

    name: str
    counts: Counts = field(default_factory=Counts)
    seconds: float = 0
    #: Processor time, in seconds.
    building: float = 0
    testing: float = 0
    failures: list[str] = field(default_factory=list)
    #: Seconds of each test that its runner timed.
    durations: dict[str, float] = field(default_factory=dict)
    #: The failures of a first run, when the second passed.
    unsteady: list[str] = field(default_factory=list)

    def tests(self) -> list[str]:
        """The failed tests, as their runner takes them; nothing if that is not known of each."""
        found = [ONE_TEST.match(line) for line in dict.fromkeys(self.failures)]
        return [test["pytest"] or test["cargo"] for test in found if test] if all(found) else []

    def see(self, line: str) -> None:
        """Takes what a line of the group's output tells."""
        if found := read(line):
            self.counts += found
        elif failure := names_failure(line):
            self.failures.append(failure)
        if took := duration(line):
            name, seconds = took
            self.durations[name] = max(seconds, self.durations.get(name, 0))

    def longest(self) -> list[str]:
        """Its longest tests, a line each."""
        longest = sorted(self.durations.items(), key=lambda took: -took[1])[:LONGEST]
        return [f"{seconds:>7.1f} s   {self.name}: {name}" for name, seconds in longest]

    def failed(self, why: str) -> str:
        """Counts a failure that no runner counted; the line that says so."""
        self.counts.failed += 1
        self.failures.append(why)
        return f"--- {self.name} {why}"

    def report(self) -> list[str]:
        """The lines that say what failed, none when nothing did."""
        if self.unsteady:
            return [f"{self.name}: unsteady, passed when repeated: {line}" for line in self.unsteady]
        if not self.counts.failed:
            return []
        return [f"{self.name}: {line}" for line in self.named()]

    def named(self) -> list[str]:
        """What failed, as the runner named it."""
        # The same test may be named twice by its runner, once where it failed and once in a list.
        named = list(dict.fromkeys(self.failures)) or ["(no test was named)"]
        more = [f"... and {len(named) - NAMED} lines more"] if len(named) > NAMED else []
        return named[:NAMED] + more


#: Held while several lines are printed that belong together.
printing = threading.Lock()


def say(*lines: str) -> None:
    """Prints lines that no other lane's lines come between."""
    with printing:
        print(*lines, sep="\n", flush=True)


def run(name: str, command: str, *, live: bool, has_tests: bool = True, only: Sequence[str] = ()) -> Group:
    """Runs one group, or only these tests of it. Its output is passed on as it comes if `live`, else at its end; a brief run
    shows failures only."""
    command = command.replace("{only}", shlex.join(only))
    say(f"\n=== {name}: {command}")
    group = Group(name)
    brief = bool(os.environ.get("TOTALS_BRIEF"))
    lines: list[str] = []
    begun = time.monotonic()
    process = subprocess.Popen(["bash", "-c", command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert process.stdout is not None
    for raw in process.stdout:
        line = raw.decode(errors="replace").rstrip("\n")
        if brief or not live:
            lines.append(line)
        else:
            say(line)
        group.see(line)
        if line == BUILT:
            group.building = processor_seconds(process.pid)
    _, wait_status, usage = os.wait4(process.pid, 0)
    process.returncode = status = os.waitstatus_to_exitcode(wait_status)
    group.testing = usage.ru_utime + usage.ru_stime - group.building
    if status != 0 and group.counts.failed == 0:
        lines.append(group.failed(f"exited with {status}"))
    elif has_tests and status == 0 and group.counts == Counts():
        lines.append(group.failed("ran no test"))
    if brief:
        lines = excerpt(lines) if group.counts.failed else []
    group.seconds = time.monotonic() - begun
    # Not in the form of a closing line: nobody who adds those up shall count this group twice.
    say(*lines, f"=== {name}: {group.counts} ({group.seconds:.0f} s)")
    return group


def again(groups: list[Group], commands: dict[str, str], few: int) -> list[Group]:
    """The groups, each in which `few` tests or less failed replaced by a second run of it."""
    seconds = 0.0
    second: list[Group] = []
    for group in groups:
        command, only = commands.get(group.name, ""), group.tests()
        narrow = "{only}" in command and len(only) >= group.counts.failed
        if 0 < group.counts.failed <= few and not narrow:
            seconds += group.seconds
        if not command or not 0 < group.counts.failed <= few or (not narrow and seconds > AGAIN_SECONDS):
            second.append(group)
            continue
        say(
            f"\n=== {group.name}: {group.counts.failed} failed; {'only that' if narrow else 'all of it'} once more, by itself"
        )
        repeated = run(group.name, command, live=False, only=only if narrow else [])
        if narrow:
            # The others have passed already.
            repeated.counts += Counts(group.counts.passed, 0, group.counts.skipped)
        if not repeated.counts.failed:
            repeated.unsteady = group.named()
        second.append(repeated)
    return second


def lanes(arguments: list[str]) -> list[list[str]]:
    """The groups of each lane."""
    found: list[list[str]] = [[]]
    for argument in arguments:
        if argument == "/":
            found.append([])
        else:
            found[-1].append(argument)
    return [lane for lane in found if lane]


def main(arguments: list[str]) -> int:
    """Runs all groups; 0 when nothing failed."""
    begun = time.monotonic()
    groups: list[Group] = []
    if arguments[0] == "--first":
        groups.append(run("build", f"{arguments[1]} && echo '{BUILT}'", live=True, has_tests=False))
        arguments = [] if groups[0].counts.failed else arguments[2:]
    beside = lanes(arguments)

    def run_lane(lane: list[str]) -> list[Group]:
        return [run(*argument.split("=", 1), live=len(beside) == 1) for argument in lane]

    with ThreadPoolExecutor(len(beside) or 1) as pool:
        groups += [group for lane in pool.map(run_lane, beside) for group in lane]
    if few := int(os.environ.get("TOTALS_AGAIN", "0")):
        commands = dict(argument.split("=", 1) for lane in beside for argument in lane)
        groups = again(groups, commands, few)
    total = Counts()
    for group in groups:
        total += group.counts
    print("\nthe longest tests:", *(line for group in groups for line in group.longest()), sep="\n")
    print("\n    group                 wall   building    testing   (processor time)")
    for group in groups:
        times = f"{group.seconds:>6.0f} s   {group.building:>6.0f} s   {group.testing:>6.0f} s"
        print(f"    {group.name:<18} {times}   {group.counts}")
    building, testing = (sum(times) for times in zip(*((group.building, group.testing) for group in groups), strict=True))
    print(f"    {'all':<18} {time.monotonic() - begun:>6.0f} s   {building:>6.0f} s   {testing:>6.0f} s")
    report = [line for group in groups for line in group.report()]
    if report:
        print("\nwhat failed:" if total.failed else "\nwhat was unsteady:", *report, sep="\n    ")
    if path := os.environ.get("TOTALS_REPORT"):
        with open(path, "a", encoding="utf-8") as file:
            file.writelines(f"{line}\n" for line in report)
    print(total, flush=True)
    return 1 if total.failed or not total.passed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
