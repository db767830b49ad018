"""The names of tests in Rust, Python and Java say the behaviour in at most 60 characters (no packages needed).

Node's names are sentences behind that of their `describe`, and are not counted.
"""

from __future__ import annotations

import re
import subprocess
import unittest
from collections.abc import Iterator
from pathlib import Path

from testing import main

ROOT = Path(__file__).resolve().parent.parent
MOST = 60

#: What stands between a test's attribute or annotation and its name: more of them, comments.
BETWEEN = r"(?:\s|#!?\[[^\]]*\]|@\w+(?:\([^)]*\))?|//[^\n]*)*?"
NAMES = {
    ".rs": re.compile(rf"#\[(?:\w+::)*test\b[^\]]*\]{BETWEEN}\s(?:pub )?(?:async )?fn (\w+)"),
    ".py": re.compile(r"\bdef test_(\w+)"),
    ".java": re.compile(rf"@(?:Test|RepeatedTest|ParameterizedTest)\b(?:\([^)]*\))?{BETWEEN}\s(?:public )?void (\w+)"),
}


def names(suffix: str, text: str) -> Iterator[str]:
    """The names of the tests in a file of that kind, without `test_`."""
    return (found[1] for found in NAMES[suffix].finditer(text))


def files() -> Iterator[Path]:
    """The files of the repository that may have tests."""
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return (ROOT / line for line in listed.splitlines() if Path(line).suffix in NAMES)


class Names(unittest.TestCase):
    def test_no_name_is_too_long(self) -> None:
        found = [(path, name) for path in files() if path.exists() for name in names(path.suffix, path.read_text())]
        self.assertEqual({path.suffix for path, _ in found}, set(NAMES), "each language has tests")
        long = [f"{path.relative_to(ROOT)}: {name} ({len(name)})" for path, name in found if len(name) > MOST]
        self.assertEqual(long, [])


class Reading(unittest.TestCase):
    def test_a_test_is_found_however_it_is_written(self) -> None:
        for suffix, text in (
            (".rs", "#[test]\nfn a_name() {"),
            (".rs", '#[tokio::test(flavor = "multi_thread", worker_threads = 2)]\n    async fn a_name() {'),
            (".rs", '#[test]\n#[ignore = "long"]\n// A comment.\nfn a_name(tokens in 1..9u64) {'),
            (".py", "    async def test_a_name(self) -> None:"),
            (".java", "    @Test\n    void a_name() {"),
            (".java", "    @ParameterizedTest\n    @ValueSource(ints = {1, 2})\n    void a_name(int n) throws Exception {"),
        ):
            self.assertEqual(list(names(suffix, text)), ["a_name"], text)

    def test_what_is_no_test_is_left_alone(self) -> None:
        for suffix, text in ((".rs", "#[cfg(test)]\nfn helper() {}"), (".py", "def helper()"), (".java", "void helper() {")):
            self.assertEqual(list(names(suffix, text)), [], text)


if __name__ == "__main__":
    main()
