"""Runs every program of examples/: those of one folder print the same lines, whatever their language."""

from __future__ import annotations

import sys
from pathlib import Path

import crates
from testing import main
from user_programs import JAVA, PYTHON, ROOT, WithServer, compiled, node, run

sys.path.insert(0, str(ROOT / "api"))
from primitives import PRIMITIVES

EXAMPLES = ROOT / "examples"
BUILD = ROOT / "build/examples"
# The others are of event loops and of frameworks, and have tests of their own.
FOLDERS = sorted(EXAMPLES / each.name for each in PRIMITIVES)
#: The programs of each language; asyncio has none for ids, which do not wait.
SUFFIXES = {"rust": {".rs"}, "python": {".py"}, "node": {".mjs"}, "java": {".java"}, "c": {".c", ".cpp"}}


def command(source: Path) -> list[str]:
    """What runs the program, built as a user would."""
    match source.suffix:
        case ".rs":
            return [str(crates.folder() / source.parent.name)]
        case ".py":
            return [*PYTHON, str(source)]
        case ".mjs":
            return node(source)
        case ".java":
            return [*JAVA, str(source)]
        case _:
            return compiled(source, BUILD / f"{source.parent.name}-{source.suffix[1:]}")


class Examples(WithServer):
    def check(self, suffix: str) -> None:
        for folder in FOLDERS:
            for source in sorted(folder.glob(f"*{suffix}")):
                with self.subTest(str(source.relative_to(EXAMPLES))):
                    # The programs have the same names, and each shall find a server as new.
                    run("redis-cli", "-u", self.server.admin_url, "FLUSHALL")
                    self.assertEqual(run(*command(source), url=self.server.url), (folder / "expected.txt").read_text())

    def test_every_folder_has_a_program_in_each_language(self) -> None:
        for each in PRIMITIVES:
            suffixes = set[str]().union(*(SUFFIXES[language] for language in each.languages))
            there = {source.suffix for source in (EXAMPLES / each.name).iterdir()} - {".txt"}
            self.assertEqual(there, suffixes, each.name)

    def test_rust(self) -> None:
        crates.built("libdlock-examples")
        self.check(".rs")

    def test_python_and_asyncio(self) -> None:
        self.check(".py")

    def test_node(self) -> None:
        self.check(".mjs")

    def test_java(self) -> None:
        self.check(".java")

    def test_c(self) -> None:
        self.check(".c")

    def test_cpp(self) -> None:
        self.check(".cpp")


if __name__ == "__main__":
    main()
