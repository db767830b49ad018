"""Runs what the documentation shows: the programs of README.md, the quickstart; and checks the pages: links, line length.

The pages of the languages (docs/c, docs/python, ...) are run by the tests of those languages.
"""

from __future__ import annotations

import json
import os
import re
import unittest
from pathlib import Path

import readme
from testing import main
from user_programs import JAVA, PYTHON, ROOT, WithServer, compiled, node, run

BUILD = ROOT / "build/docs"
#: With a name behind it, runs an example of core as the Rust tests have built it.
EXAMPLE = ("cargo", "run", "--quiet", f"--profile={os.environ.get('DLOCK_PROFILE', 'quick')}", "--example")
PAGES = [ROOT / page for page in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")]
PAGES += [ROOT / folder / "README.md" for folder in ("api", "bench", "examples")]
PAGES += [*sorted((ROOT / "docs").rglob("*.md")), *sorted((ROOT / "tests").glob("*/README.md"))]


def source(name: str, program: str) -> Path:
    """A file of that name with the README's program."""
    BUILD.mkdir(parents=True, exist_ok=True)
    (BUILD / name).write_text(readme.program(program))
    return BUILD / name


class Programs(WithServer):
    def check(self, *command: str) -> None:
        """The program took the lock on the server, showed its token, and let go."""
        output = run(*command, url=self.server.url)
        self.assertRegex(output, r"^held, fencing token \d{16}\n$")
        self.assertEqual(self.server.command("GET", "redisson_lock_token:{report}"), output.split()[-1])
        # A C++ guard and a Rust drop do not wait for a reply, but what they sent is there before a later command.
        self.assertEqual(self.server.command("EXISTS", "report"), "0")

    def test_rust(self) -> None:
        example = (ROOT / "core/examples/readme.rs").read_text()
        self.assertEqual(example.partition("\n\n")[2], readme.program("src/main.rs"))
        self.check(*EXAMPLE, "readme")

    def test_python(self) -> None:
        self.check(*PYTHON, str(source("readme.py", "report.py")))

    def test_asyncio(self) -> None:
        self.check(*PYTHON, str(source("readme_aio.py", "report_aio.py")))

    def test_node(self) -> None:
        self.check(*node(source("readme.mjs", "report.mjs")))

    def test_java(self) -> None:
        self.check(*JAVA, str(source("Report.java", "Report.java")))

    def test_cpp(self) -> None:
        self.check(*compiled(source("readme.cpp", "report.cpp"), BUILD / "readme-cpp"))

    def test_c(self) -> None:
        self.check(*compiled(source("readme.c", "report.c"), BUILD / "readme-c"))

    def test_quickstart(self) -> None:
        for url in ([], ["--", self.server.url]):
            output = run(*EXAMPLE, "quickstart", *url)
            self.assertIn("12 turns, never two holders at once", output)

    def test_several_locks_as_one(self) -> None:
        for url in ([], ["--", self.server.url]):
            output = run(*EXAMPLE, "lock_all", *url)
            self.assertIn("60 transfers, none blocked by another; 3 accounts held", output)


def too_long(page: Path) -> list[str]:
    """The lines of prose beyond 100 columns. Tables, code and links may be longer."""
    text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.DOTALL | re.MULTILINE)
    prose = [line for line in text.splitlines() if not re.match(r"\s*\||    ", line) and "](" not in line]
    return [line for line in prose if len(line) > 100]


def anchors(page: Path) -> set[str]:
    """What a link may name behind the page's `#`: GitHub's form of its headings."""
    text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.DOTALL | re.MULTILINE)
    titles = re.findall(r"^#{1,6} (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


class Pages(unittest.TestCase):
    def test_every_design_question_is_in_the_index(self) -> None:
        index, _, questions = (ROOT / "docs/DESIGN.md").read_text().partition("\n## ")
        self.assertEqual(
            re.findall(r"^- \[(.*)\]\(#", index, re.MULTILINE), re.findall(r"^### (.*)$", questions, re.MULTILINE)
        )

    def test_statistics_to_alert_on_are_counted(self) -> None:
        counted = json.loads((ROOT / "tests/vectors/stats.json").read_text())
        known = {*counted["counters"]}
        for kind, block in counted["blocks"].items():
            known |= {f"{kind}.{name}" for name in [*block["counters"], *block["histograms"]]}
        section = (ROOT / "docs/operations.md").read_text().partition("\n## What to alert on\n")[2]
        rows = re.findall(r"^\| statistics? ([^|]*)\|", section, re.MULTILINE)
        named = {name for row in rows for name in re.findall(r"`(\w+(?:\.\w+)?)`", row)} - {"p99"}
        self.assertGreater(len(named), 6)
        self.assertEqual(named - known, set())

    def test_prose_wraps_at_100_columns(self) -> None:
        for page in PAGES:
            with self.subTest(page=str(page.relative_to(ROOT))):
                self.assertEqual(too_long(page), [])

    def test_every_page_and_heading_that_is_linked_exists(self) -> None:
        for page in PAGES:
            for link in re.findall(r"\]\(([^)\s]+)\)", page.read_text()):
                if "://" in link:
                    continue
                with self.subTest(page=str(page.relative_to(ROOT)), link=link):
                    name, _, heading = link.partition("#")
                    target = page.parent / name if name else page
                    self.assertTrue(target.exists(), "no such file")
                    if heading:
                        self.assertIn(heading, anchors(target), "no such heading")


#: The pages for those who come from elsewhere: in which sources our calls have to be.
MOVING = {
    "redis-py": ["py/python/libdlock/**/*.py"],
    "redlock": ["node/ts/**/*.ts", "py/python/libdlock/**/*.py"],
    "shedlock": ["java/src/main/**/*.java", "java/*/src/main/**/*.java"],
    "curator": ["java/src/main/**/*.java"],
    "bullmq": ["node/ts/**/*.ts"],
}
#: What a call of ours is given, from elsewhere.
THEIRS = {"ofMinutes", "stringify"}


class Moving(unittest.TestCase):
    def test_every_page_is_checked_and_in_the_index(self) -> None:
        folder = ROOT / "docs/moving"
        self.assertEqual({page.stem for page in folder.glob("*.md")} - {"README"}, set(MOVING))
        index = (folder / "README.md").read_text()
        self.assertEqual([name for name in MOVING if f"({name}.md)" not in index], [])

    def test_our_side_of_a_table_has_calls_that_exist(self) -> None:
        for name, patterns in MOVING.items():
            source = "".join(path.read_text() for pattern in patterns for path in ROOT.glob(pattern))
            rows = re.findall(r"^\| .* \| (.*) \|$", (ROOT / f"docs/moving/{name}.md").read_text(), re.MULTILINE)
            calls = {call for row in rows for code in re.findall(r"`([^`]+)`", row) for call in re.findall(r"(\w+)\(", code)}
            self.assertGreater(len(calls), 5, name)
            self.assertEqual({call for call in calls - THEIRS if not re.search(rf"\b{call}\b", source)}, set(), name)


if __name__ == "__main__":
    main()
