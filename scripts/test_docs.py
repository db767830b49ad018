"""Runs what the documentation shows: the programs of README.md, the quickstart; and checks the pages: links, line length.

The pages of the languages (docs/c, docs/python, ...) are run by the tests of those languages.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import unittest
from pathlib import Path

from private_redis import PrivateRedis

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text()
BUILD = ROOT / "build/docs"
PAGES = [ROOT / page for page in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")]
PAGES += [ROOT / folder / "README.md" for folder in ("api", "bench", "examples")]
PAGES += [*sorted((ROOT / "docs").rglob("*.md")), *sorted((ROOT / "tests").glob("*/README.md"))]
LIBRARY = ["-Ibuild/c/include", "-Lbuild/c/lib", "-ldlock", f"-Wl,-rpath,{ROOT}/build/c/lib"]
WARNINGS = ["-Wall", "-Wextra", "-Werror"]


def program(title: str) -> str:
    """The README's program under that title: `Title ([more](page)):` or `Title:`, a blank line, the code."""
    found = re.findall(rf"^{re.escape(title)}(?: \([^\n]*\))?:\n\n```\w+\n(.*?)^```$", README, re.DOTALL | re.MULTILINE)
    assert len(found) == 1, f"{len(found)} programs under {title}"
    return str(found[0])


def run(*command: str, url: str = "") -> str:
    """The output of a command that must succeed."""
    environment = {**os.environ, "REDIS_URL": url} if url else None
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 0, f"{command[0]} ended with {done.returncode}: {done.stderr[-2000:]}"
    return done.stdout


class Programs(unittest.TestCase):
    server: PrivateRedis

    @classmethod
    def setUpClass(cls) -> None:
        BUILD.mkdir(parents=True, exist_ok=True)
        cls.server = PrivateRedis()
        cls.server.__enter__()
        cls.addClassCleanup(cls.server.stop)

    def check(self, *command: str) -> None:
        """The program took the lock on the server, showed its token, and let go."""
        output = run(*command, url=self.server.url)
        self.assertRegex(output, r"^held, fencing token \d{16}\n$")
        self.assertEqual(self.server.command("GET", "redisson_lock_token:{report}"), output.split()[-1])
        # A C++ guard and a Rust drop do not wait for a reply, but what they sent is there before a later command.
        self.assertEqual(self.server.command("EXISTS", "report"), "0")

    def test_rust(self) -> None:
        example = (ROOT / "core/examples/readme.rs").read_text()
        self.assertEqual(example.partition("\n\n")[2], program("Rust"))
        self.check("cargo", "run", "--quiet", "--example", "readme")

    def test_python(self) -> None:
        source = BUILD / "readme.py"
        source.write_text(program("Python"))
        self.check("build/venv/bin/python", "-W", "error", str(source))

    def test_asyncio(self) -> None:
        source = BUILD / "readme_aio.py"
        source.write_text(program("asyncio"))
        self.check("build/venv/bin/python", "-W", "error", str(source))

    def test_node(self) -> None:
        source = ROOT / "build/node-app/readme.mjs"
        source.write_text(program("Node"))
        self.check("node", str(source))

    def test_java(self) -> None:
        source = BUILD / "Report.java"
        source.write_text(program("Java"))
        java = f"{os.environ['JAVA_HOME']}/bin/java" if "JAVA_HOME" in os.environ else "java"
        self.check(java, "-cp", "build/java/libdlock.jar", str(source))

    def test_cpp(self) -> None:
        source, binary = BUILD / "readme.cpp", str(BUILD / "readme-cpp")
        source.write_text(program("C++17"))
        run(os.environ.get("CXX", "c++"), "-std=c++17", *WARNINGS, "-o", binary, str(source), *LIBRARY)
        self.check(binary)

    def test_c(self) -> None:
        source, binary = BUILD / "readme.c", str(BUILD / "readme-c")
        source.write_text(program("C"))
        run(os.environ.get("CC", "cc"), "-std=c11", *WARNINGS, "-o", binary, str(source), *LIBRARY)
        self.check(binary)

    def test_quickstart(self) -> None:
        for url in ([], ["--", self.server.url]):
            output = run("cargo", "run", "--quiet", "--example", "quickstart", *url)
            self.assertIn("12 turns, never two holders at once", output)


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


if __name__ == "__main__":
    done = unittest.main(exit=False).result
    # A test may fail in several of its subtests, and a class in its set-up.
    bad = len({getattr(test, "test_case", test).id() for test, _ in done.failures + done.errors})
    print(f"{max(done.testsRun - bad, 0)} passed, {bad} failed", flush=True)
    sys.exit(bad > 0)
