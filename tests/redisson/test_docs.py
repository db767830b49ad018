"""The programs of docs/redisson.md, run as they stand there."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import workers
from helpers import Fleet, eventually
from programs import ROOT
from redisson import BUILD, JVM, STARTED
from sides import Process, listening
from wire import Wire

PAGE = (ROOT / "docs/redisson.md").read_text()
#: What the programs lock.
NAME = "stock"


def program(language: str, number: int) -> str:
    """The page's programs in that language, counted from 0."""
    return str(re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)[number])


def java(source: str, classes: str, folder: Path) -> list[str]:
    """How the JVM compiles and runs a program of one file."""
    (found,) = re.findall(r"^public class (\w+)", source, re.MULTILINE)
    path = folder / f"{found}.java"
    path.write_text(source)
    return [*JVM, "-cp", classes, str(path)]


def run(command: list[str], url: str) -> str:
    """What a program says that ends well."""
    done = subprocess.run(
        command, env={**os.environ, "REDIS_URL": url}, capture_output=True, text=True, check=False, timeout=STARTED
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def token(holder: str, said: str) -> int:
    (found,) = re.fullmatch(rf"held by {holder}, fencing token (\d+)\n", said).groups()  # type: ignore[union-attr]
    return int(found)


def test_the_programs_wait_for_one_another(
    fleet: Fleet, command: workers.Command, process: Callable[[str], Process], wire: Wire, tmp_path: Path
) -> None:
    url = fleet.server.admin_url
    other = process("Python")
    other.tell_acquire(NAME)
    tokens = [other.got().token or 0]

    def waits(holder: str) -> None:
        if holder == "Redisson":
            listening(fleet, NAME)
        else:
            eventually("the waiter stands in the queue", lambda: wire.command("ZCARD", f"dlock_queue:{{{NAME}}}") == 1)

    # Each is started while the lock is held, and has it when it is released.
    def after_release(holder: str, program: list[str]) -> None:
        said: list[str] = []
        thread = threading.Thread(target=lambda: said.append(run(program, url)))
        thread.start()
        waits(holder)
        other.release(NAME)
        thread.join(STARTED)
        tokens.append(token(holder, said[0]))
        other.tell_acquire(NAME)
        tokens.append(other.got().token or 0)

    after_release("Redisson", java(program("java", 0), f"{BUILD}/lib/*", tmp_path))
    after_release("libdlock", [sys.executable, "-W", "error", "-c", program("python", 0)])
    if "Java" in workers.LANGUAGES:
        command("Java")  # builds the jar
        after_release("libdlock", java(program("java", 1), str(ROOT / "build/java/libdlock.jar"), tmp_path))
    other.release(NAME)
    assert tokens == sorted(set(tokens)), tokens
    wire.command("DEL", f"redisson_lock_token:{{{NAME}}}")


def test_the_page_names_the_redisson_that_is_tested() -> None:
    pom = (Path(__file__).parent / "peer/pom.xml").read_text()
    (version,) = re.findall(r"<redisson.version>(.*)</redisson.version>", pom)
    assert f"Redisson {version}" in PAGE
