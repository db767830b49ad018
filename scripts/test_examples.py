"""Runs every program of examples/: those of one folder print the same lines, whatever their language."""

from __future__ import annotations

import os
import subprocess
import sys
import unittest
from pathlib import Path

from private_redis import PrivateRedis

ROOT = Path(__file__).resolve().parent.parent
EXAMPLES = ROOT / "examples"
BUILD = ROOT / "build/examples"
LIBRARY = ["-Ibuild/c/include", "-Lbuild/c/lib", "-ldlock", f"-Wl,-rpath,{ROOT}/build/c/lib"]
WARNINGS = ["-Wall", "-Wextra", "-Werror"]
FOLDERS = sorted(folder for folder in EXAMPLES.iterdir() if folder.is_dir())
#: Programs that a folder has in each language; asyncio has none for ids, which do not wait.
LANGUAGES = {".rs", ".py", ".mjs", ".java", ".c", ".cpp"}


def run(*command: str, url: str = "") -> str:
    """The output of a command that must succeed."""
    environment = {**os.environ, "REDIS_URL": url}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, f"{command} ended with {done.returncode}: {done.stderr[-2000:]}"
    return done.stdout


def compiled(compiler: list[str], source: Path) -> list[str]:
    binary = str(BUILD / f"{source.parent.name}-{source.suffix[1:]}")
    run(*compiler, *WARNINGS, "-o", binary, str(source), *LIBRARY)
    return [binary]


def command(source: Path) -> list[str]:
    """What runs the program, built as a user would."""
    jdk = f"{os.environ['JAVA_HOME']}/bin/" if "JAVA_HOME" in os.environ else ""
    match source.suffix:
        case ".rs":
            return ["cargo", "run", "--quiet", "-p", "libdlock-examples", "--bin", source.parent.name]
        case ".py":
            return ["build/venv/bin/python", "-W", "error", str(source)]
        case ".mjs":
            # Node looks for the package beside the program.
            beside = ROOT / "build/node-app" / f"example-{source.name}"
            beside.write_bytes(source.read_bytes())
            return ["node", str(beside)]
        case ".java":
            return [f"{jdk}java", "-cp", "build/java/libdlock.jar", str(source)]
        case ".c":
            return compiled([os.environ.get("CC", "cc"), "-std=c11"], source)
        case _:
            return compiled([os.environ.get("CXX", "c++"), "-std=c++17"], source)


class Examples(unittest.TestCase):
    server: PrivateRedis

    @classmethod
    def setUpClass(cls) -> None:
        BUILD.mkdir(parents=True, exist_ok=True)
        cls.server = PrivateRedis()
        cls.server.__enter__()
        cls.addClassCleanup(cls.server.stop)

    def check(self, suffix: str) -> None:
        for folder in FOLDERS:
            for source in sorted(folder.glob(f"*{suffix}")):
                with self.subTest(str(source.relative_to(EXAMPLES))):
                    self.assertEqual(run(*command(source), url=self.server.url), (folder / "expected.txt").read_text())

    def test_every_folder_has_a_program_in_each_language(self) -> None:
        for folder in FOLDERS:
            self.assertEqual({source.suffix for source in folder.iterdir()} - {".txt"}, LANGUAGES, folder.name)

    def test_rust(self) -> None:
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
    done = unittest.main(exit=False).result
    bad = len({getattr(test, "test_case", test).id() for test, _ in done.failures + done.errors})
    print(f"{max(done.testsRun - bad, 0)} passed, {bad} failed", flush=True)
    sys.exit(bad > 0)
