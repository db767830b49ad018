"""The files of Rust tests are modules of one program for each crate: each is in its list, and what scripts choose of them exists.

Cargo compiles none that is not listed, and a filter that matches nothing passes. Standard library only.
"""

from __future__ import annotations

import re
import unittest
from pathlib import Path

from testing import main

ROOT = Path(__file__).resolve().parent.parent
PROGRAM = re.compile(r'^name = "(\w+-tests)"\npath = "tests/main.rs"$', re.MULTILINE)
OWN_TARGET = re.compile(r'^\[\[test\]\]\nname = "(\w+)"$', re.MULTILINE)
MODULE = re.compile(r"^mod (\w+);$", re.MULTILINE)
CHOICE = re.compile(r"^ *run --test (\S+) -- ((?:\w+::\s*)+)", re.MULTILINE)


def programs() -> dict[str, Path]:
    """The folder of the files of each program."""
    found = {}
    for manifest in (path for folder in ("*", "tests/*") for path in ROOT.glob(f"{folder}/Cargo.toml")):
        if named := PROGRAM.search(manifest.read_text()):
            found[named[1]] = manifest.parent / "tests"
    return found


def files(folder: Path) -> set[str]:
    """The files of a folder that have tests."""
    return {file.stem for file in folder.glob("*.rs")} - {"main"}


def chosen(script: str) -> list[tuple[str, list[str]]]:
    """The programs of which a script runs some modules, and those."""
    return [(program, re.findall(r"\w+", names)) for program, names in CHOICE.findall(script.replace("\\\n", ""))]


def mistaken(names: list[str], modules: set[str]) -> list[str]:
    """The names by which not exactly one module is chosen: a filter matches in the middle of a name, too."""
    return [name for name in names if [module for module in modules if module.endswith(name)] != [name]]


class Files(unittest.TestCase):
    def test_each_file_is_a_module_or_a_program(self) -> None:
        self.assertEqual(len(programs()), 6)
        for program, folder in programs().items():
            with self.subTest(program):
                listed = MODULE.findall((folder / "main.rs").read_text())
                own = OWN_TARGET.findall((folder.parent / "Cargo.toml").read_text())
                self.assertEqual(sorted([*listed, *own]), sorted(files(folder) | {"common"} & set(listed)))

    def test_what_runs_on_other_servers_is_there(self) -> None:
        choices = chosen((ROOT / "scripts/server-tests.sh").read_text())
        self.assertEqual([program for program, _ in choices], ["kit-tests", "core-tests", "fault-tests"])
        for program, names in choices:
            self.assertEqual(mistaken(names, files(programs()[program])), [], program)

    def test_what_is_left_out_of_a_shorter_run_is_there(self) -> None:
        text = (ROOT / "scripts/check-long.sh").read_text()
        (skipped,) = re.findall(r'^skipped="([^"]*)"', text, re.MULTILINE)
        tests = [file.read_text() for folder in programs().values() for file in folder.glob("*.rs")]
        tests += [file.read_text() for file in (ROOT / "core/src").rglob("*.rs")]
        for name in skipped.split():
            module, _, test = name.rpartition("::")
            inside = [text for text in tests if not module or re.search(rf"\bmod {module} ", text)] or [""]
            self.assertTrue(any(re.search(rf"#\[ignore\b[^#]*?\bfn \w*{test}", text) for text in inside), name)


class Reading(unittest.TestCase):
    def test_choices_are_found_over_several_lines(self) -> None:
        script = "run --lib -- queue\n    run --test kit-tests -- clock:: server:: \\\n        proxy:: || status=1\n"
        self.assertEqual(chosen(script), [("kit-tests", ["clock", "server", "proxy"])])

    def test_a_name_of_none_or_of_several_is_mistaken(self) -> None:
        self.assertEqual(mistaken(["server", "jobs", "away"], {"server", "hung_server", "jobs"}), ["server", "away"])


if __name__ == "__main__":
    main()
