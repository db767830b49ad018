"""One program in every language: how it is built and started."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def run(*words: str | Path) -> None:
    """A build step; DLOCK_BUILT says that it was just done."""
    if "DLOCK_BUILT" not in os.environ:
        subprocess.run(words, check=True, cwd=ROOT)


def fresh(made: Path, sources: Iterable[Path]) -> bool:
    """Whether it is there, and made after all that it is made of."""
    return made.exists() and all(source.stat().st_mtime < made.stat().st_mtime for source in sources)


class Programs:
    """The program `stem` of a folder, in every language that has it there. Its other files belong to it too."""

    def __init__(self, folder: Path, stem: str) -> None:
        self._folder = folder
        self._stem = stem
        self._build = ROOT / "build" / folder.name
        self.how: dict[str, Callable[[], list[str]]] = {
            "C++": self.cpp,
            "Python": self.python,
            "asyncio": self.asyncio,
            "Node": self.node,
            "Java": self.java,
        }

    def command(self, language: str) -> list[str]:
        """Builds a language's program; how it is started. Of several processes that want it one builds, and the others wait."""
        self._build.mkdir(parents=True, exist_ok=True)
        with (self._build / f"{language}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            return self.how[language]()

    def build(self) -> None:
        """Builds all of them."""
        with ThreadPoolExecutor(2) as pool:
            list(pool.map(self.command, self.how))

    def cpp(self) -> list[str]:
        """Compiled against the library and the headers that scripts/packages.sh stages."""
        run("scripts/packages.sh", "c")
        stage, program = ROOT / "build/c", self._build / f"{self._stem}-cpp"
        flags = ["-std=c++17", "-O1", "-Wall", "-Wextra", "-Werror"]
        library = [f"-I{stage}/include", f"-L{stage}/lib", "-ldlock", f"-Wl,-rpath,{stage}/lib"]
        headers = (ROOT / "include").rglob("*.h*")
        if not fresh(program, [*headers, *self._folder.glob("*.hpp"), *self._folder.glob("*.cpp")]):
            run(os.environ.get("CXX", "c++"), *flags, self._folder / f"{self._stem}.cpp", "-o", program, *library)
        return [str(program)]

    def python(self) -> list[str]:
        """With the interpreter of these tests, where the wheel is installed."""
        return [sys.executable, str(self._folder / f"{self._stem}.py")]

    def asyncio(self) -> list[str]:
        return [sys.executable, str(self._folder / f"{self._stem}_aio.py")]

    def node(self) -> list[str]:
        """Run from below a folder that has the packages installed: that is where `import` looks."""
        run("scripts/packages.sh", "node")
        beside = ROOT / "build/node-app" / self._folder.name
        beside.mkdir(exist_ok=True)
        for source in self._folder.glob("*.mjs"):
            copy = beside / source.name
            # Another one's program may be reading it.
            if not copy.exists() or copy.read_bytes() != source.read_bytes():
                copy.write_bytes(source.read_bytes())
        return ["node", str(beside / f"{self._stem}.mjs")]

    def java(self) -> list[str]:
        """Compiled against the jar, and run with it."""
        run("scripts/packages.sh", "java")
        jar = ROOT / "build/java/libdlock.jar"
        home = os.environ.get("JAVA_HOME")
        tool = f"{home}/bin/" if home else ""
        sources = sorted(self._folder.glob("*.java"))
        program = self._stem.capitalize()
        if not fresh(self._build / f"{program}.class", [jar, *sources]):
            run(f"{tool}javac", "--release", "17", "-Xlint:all", "-Werror", "-cp", jar, "-d", self._build, *sources)
        return [f"{tool}java", "-cp", f"{self._build}:{jar}", program]
