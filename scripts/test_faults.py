"""The faults of tests/faults/README.md and the tests that show them: each exists, and no file cites the list by numbers.

Standard library only.
"""

from __future__ import annotations

import re
import subprocess
import unittest
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from test_names import NAMES
from testing import main

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "tests/faults"
PAGE = (FOLDER / "README.md").read_text()
#: The files of tests; `main` only names them to cargo.
FILES = {file.stem for file in (FOLDER / "tests").glob("*.rs")} - {"main"}

#: The test's name, by the kind of file; for the kinds that test_names.py does not read.
OTHERS = {
    ".c": re.compile(r'^static void (\w+)\(void\)|^ *printf\("ok (\w+)\\n"\)', re.MULTILINE),
    ".mjs": re.compile(r'\bit\(\s*(?:"([^"]*)"|`([^`]*)`)'),
    ".json": re.compile(r'^ *"scenario": "([^"]*)"', re.MULTILINE),
}
#: several_servers.rs hands the names of functions to a macro that makes two tests of each.
AT_BOTH = re.compile(r"^at_both!\(([\w,\s]*)\);", re.MULTILINE)

#: A number of the list that files used to cite: in prose, in a name, at the beginning of a title. One pattern of all is slow.
CITED = [
    re.compile(pattern)
    for pattern in (
        r"faults\.md",
        r"[Ff](?<![a-z][Ff])aults? \d",
        r"[Rr](?<![a-z][Rr])ow \d+\.",
        r"famil(?:y|ies)\d",
        r"def test_\d{1,2}_",
        r'it\("\d+(?:, \d+)*: ',
    )
]


def section(title: str) -> str:
    """What stands below a heading of the page, to the next one of its level or above."""
    level = title.partition(" ")[0]
    below = PAGE.partition(f"\n{title}\n")[2]
    return re.split(rf"^#{{1,{len(level)}}} ", below, maxsplit=1, flags=re.MULTILINE)[0]


def rows(text: str) -> list[list[str]]:
    """The rows of all tables in a text, without the lines that head them."""
    lines = [line for line in text.splitlines() if line.startswith("|")]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    heads = {at for at, row in enumerate(cells) if set(row[0]) == {"-"}}
    return [row for at, row in enumerate(cells) if not {at, at + 1} & heads]


FAULTS = rows(section("## Each fault and its tests"))


def file_of(span: str) -> Path | None:
    """The file that a code span names: by its path, or by its name alone where it is one of tests/faults/tests."""
    if "/" in span and " " not in span:
        return ROOT / span
    return FOLDER / f"tests/{span}.rs" if span in FILES else None


@cache
def tests(file: Path) -> frozenset[str]:
    """The names of the tests in a file."""
    text = file.read_text()
    if file.suffix in OTHERS:
        return frozenset(next(filter(None, found.groups()), "") for found in OTHERS[file.suffix].finditer(text))
    named = {found[1] for found in NAMES[file.suffix].finditer(text)}
    if file.suffix == ".py":
        return frozenset(f"test_{name}" for name in named)
    return frozenset(named.union(*(re.findall(r"\w+", found[1]) for found in AT_BOTH.finditer(text))))


def missing(cell: str) -> Iterator[str]:
    """The files and tests that a cell of the table names and that are not there."""
    file: Path | None = None
    for span in re.findall(r"`([^`]+)`", cell):
        named = file_of(span)
        if named is not None:
            file = named
            if not file.exists():
                yield span
        elif file is None:
            yield f"{span} without a file"
        elif file.exists() and span not in tests(file):
            yield f"{file.relative_to(ROOT)}: {span}"


def cited(text: str) -> list[str]:
    """The places in a file that cite a fault by a number."""
    return [found[0].strip() for pattern in CITED for found in pattern.finditer(text)]


class Table(unittest.TestCase):
    def test_each_test_of_a_row_exists(self) -> None:
        self.assertGreater(len(FAULTS), 50)
        for name, _, _, shown, _ in FAULTS:
            with self.subTest(fault=name):
                self.assertEqual(list(missing(shown)), [])
                self.assertIn("`: `", shown, "a row without a test")

    def test_each_fault_has_a_name_that_no_other_has(self) -> None:
        names = [row[0] for row in FAULTS]
        self.assertEqual([name for name in names if not re.fullmatch(r"\*\*[^*]+\*\*", name)], [])
        self.assertEqual(len(set(names)), len(names))

    def test_each_mechanism_is_in_the_list_of_what_was_removed(self) -> None:
        removed = {row[0] for row in rows(section("## Seen to fail"))}
        for name, *_, without in FAULTS:
            mechanisms = [] if without.startswith("(") else without.split("; ")
            self.assertEqual([one for one in mechanisms if one and one not in removed], [], name)

    def test_the_overview_has_each_file(self) -> None:
        overview = {name for row in rows(PAGE.partition("\n## ")[0]) for name in re.findall(r"`(\w+)`", row[0])}
        self.assertEqual(overview, FILES)


class Citations(unittest.TestCase):
    def test_no_file_cites_a_fault_by_a_number(self) -> None:
        listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
        files = [ROOT / name for name in listed.split("\0") if name and ROOT / name != Path(__file__).resolve()]
        found = {}
        for file in files:
            if file.is_file():
                found[str(file.relative_to(ROOT))] = cited(file.read_text(errors="replace"))
        self.assertEqual({name: places for name, places in found.items() if places}, {})


class Reading(unittest.TestCase):
    def test_a_citation_is_found_however_it_is_written(self) -> None:
        for text in (
            "//! faults.md 26, 27: names",
            "/* faults 33: a process ends */",
            "/// Row 6. Every key",
            "void family14TenThousand()",
            "void families11And12ALostReply()",
            "async def test_27_leases() -> None:",
            '  it("11, 12: a reply is lost", () => {',
        ):
            self.assertEqual(len(cited(text)), 1, text)
        for text in (
            "one of 38 faults",
            "defaults 5",
            "def test_1000_cancelled()",
            'it("1,000 waiters", () => {',
            "throw 5.",
        ):
            self.assertEqual(cited(text), [], text)

    def test_names_that_are_not_there_are_missing(self) -> None:
        for cell, expected in (
            ("`holder_stops`: `after_kill_10`", ["tests/faults/tests/holder_stops.rs: after_kill_10"]),
            ("`core/tests/nowhere.rs`: `a_test`", ["core/tests/nowhere.rs"]),
            ("`holder_stopz`: `after_kill_9`", ["holder_stopz without a file", "after_kill_9 without a file"]),
            ("`several_servers`: `a_clock_back_is_mended`, *L* `a_cluster_that_is_down_is_waited_for`", []),
            ("`ffi-c/tests/programs/misuse.c`: `main`", ["ffi-c/tests/programs/misuse.c: main"]),
        ):
            self.assertEqual(list(missing(cell)), expected, cell)


if __name__ == "__main__":
    main()
