"""A runner in every language: how it is built and started."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
BUILD = ROOT / "build" / "scenarios"


def run(*words: str | Path) -> None:
    """A build step; DLOCK_BUILT says that it was just done."""
    if "DLOCK_BUILT" not in os.environ:
        subprocess.run(words, check=True, cwd=ROOT)


def rust() -> list[str]:
    run("cargo", "build", "--quiet", "-p", "libdlock-scenarios")
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    return [str(target / "debug/scenario-runner")]


def cpp() -> list[str]:
    run("scripts/c-library.sh")
    stage, program = ROOT / "build/c", BUILD / "runner-cpp"
    flags = ["-std=c++17", "-O1", "-Wall", "-Wextra", "-Werror"]
    library = [f"-I{stage}/include", f"-L{stage}/lib", "-ldlock", f"-Wl,-rpath,{stage}/lib"]
    run(os.environ.get("CXX", "c++"), *flags, HERE / "runner.cpp", "-o", program, *library)
    return [str(program)]


def python() -> list[str]:
    return [sys.executable, str(HERE / "runner.py")]


def asyncio() -> list[str]:
    return [sys.executable, str(HERE / "runner_aio.py")]


def node() -> list[str]:
    """Run from the folder of a program that has the packages installed: that is where `import` looks."""
    run("scripts/node-app.sh")
    program = ROOT / "build/node-app/scenario-runner.mjs"
    shutil.copyfile(HERE / "runner.mjs", program)
    return ["node", str(program)]


def java() -> list[str]:
    run("scripts/java-jar.sh")
    jar = ROOT / "build/java/libdlock.jar"
    home = os.environ.get("JAVA_HOME")
    tool = f"{home}/bin/" if home else ""
    run(f"{tool}javac", "--release", "17", "-Xlint:all", "-Werror", "-cp", jar, "-d", BUILD, HERE / "Runner.java")
    return [f"{tool}java", "-cp", f"{BUILD}:{jar}", "Runner"]


HOW: dict[str, Callable[[], list[str]]] = {
    "Rust": rust,
    "C++": cpp,
    "Python": python,
    "asyncio": asyncio,
    "Node": node,
    "Java": java,
}


def command(language: str) -> list[str]:
    """Builds a language's runner; how it is started."""
    BUILD.mkdir(parents=True, exist_ok=True)
    return HOW[language]()
