"""A worker in every language: how it is built and started. All speak the lines that worker.py describes."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
BUILD = ROOT / "build" / "interop"

#: The command that starts a language's worker, without the URL.
Command = Callable[[str], list[str]]


def run(*words: str | Path) -> None:
    """A build step; DLOCK_BUILT says that it was just done."""
    if "DLOCK_BUILT" not in os.environ:
        subprocess.run(words, check=True, cwd=ROOT)


def cpp() -> list[str]:
    """Compiled against the library and the headers that scripts/c-library.sh stages."""
    run("scripts/c-library.sh")
    stage, program = ROOT / "build/c", BUILD / "worker-cpp"
    flags = ["-std=c++17", "-O1", "-Wall", "-Wextra", "-Werror"]
    library = [f"-I{stage}/include", f"-L{stage}/lib", "-ldlock", f"-Wl,-rpath,{stage}/lib"]
    run(os.environ.get("CXX", "c++"), *flags, HERE / "worker.cpp", "-o", program, *library)
    return [str(program)]


def python() -> list[str]:
    """With the interpreter of these tests, where the wheel is installed."""
    return [sys.executable, str(HERE / "worker.py")]


def asyncio() -> list[str]:
    return [sys.executable, str(HERE / "worker_aio.py")]


def node() -> list[str]:
    """Run from the folder of a program that has the packages installed: that is where `import` looks."""
    run("scripts/node-app.sh")
    program = ROOT / "build/node-app/interop-worker.mjs"
    shutil.copyfile(HERE / "worker.mjs", program)
    return ["node", str(program)]


def java() -> list[str]:
    """Compiled against the jar, and run with it."""
    run("scripts/java-jar.sh")
    jar = ROOT / "build/java/libdlock.jar"
    home = os.environ.get("JAVA_HOME")
    tool = f"{home}/bin/" if home else ""
    run(f"{tool}javac", "--release", "17", "-Xlint:all", "-Werror", "-cp", jar, "-d", BUILD, HERE / "Worker.java")
    return [f"{tool}java", "-cp", f"{BUILD}:{jar}", "Worker"]


HOW = {"C++": cpp, "Python": python, "asyncio": asyncio, "Node": node, "Java": java}
LANGUAGES = ["C++", "Python", "asyncio", "Node", "Java"]


def command(language: str) -> list[str]:
    """Builds a language's worker; how it is started."""
    BUILD.mkdir(parents=True, exist_ok=True)
    return HOW[language]()
