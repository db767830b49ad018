"""Every language's tests read every file of tests/vectors, and a README describes each: a file that one language forgets would
let that language drift."""

from __future__ import annotations

import unittest
from pathlib import Path

from testing import main

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = {folder: sorted(path.name for path in (ROOT / folder).glob("*.json")) for folder in ("api", "tests/vectors")}
# Of api/ what tests compare with the library that runs; the rest is in the sources.
VECTORS = [*FOLDERS["tests/vectors"], "errors.json", "options.json"]
TESTS = {
    "Rust": ["core/src", "core/tests", "rust"],
    "C": ["ffi-c/tests", "scripts"],  # its servers are those of scripts/private_redis.py
    "Python": ["py/tests"],
    "Node": ["node/tests"],
    "Java": ["java/src/test", "java/spring-boot-starter"],
}
# There is no framework that C would have limits for.
OTHERS = {("C", "http.json")}
SOURCES = {".rs", ".py", ".c", ".h", ".cpp", ".mjs", ".cjs", ".ts", ".java"}


def read(folders: list[str]) -> str:
    """All sources below the folders."""
    files = (path for folder in folders for path in (ROOT / folder).rglob("*") if path.suffix in SOURCES)
    return "\n".join(path.read_text() for path in files if "node_modules" not in path.parts)


class Vectors(unittest.TestCase):
    def test_every_language_reads_every_file(self) -> None:
        for language, folders in TESTS.items():
            text = read(folders)
            for name in (name for name in VECTORS if (language, name) not in OTHERS):
                with self.subTest(language=language, name=name):
                    # C's tests get their tables by the stem.
                    self.assertTrue(name in text or f'"{name.removesuffix(".json")}"' in text, f"{language}: {name}")

    def test_the_readme_tells_what_each_holds(self) -> None:
        for folder, names in FOLDERS.items():
            readme = (ROOT / folder / "README.md").read_text()
            for name in names:
                with self.subTest(folder=folder, name=name):
                    self.assertIn(f"| `{name}` |", readme)


if __name__ == "__main__":
    main()
