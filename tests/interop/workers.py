"""A worker in every language. All speak the lines that worker.py describes. Run by itself, this builds them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from programs import Programs

#: The command that starts a language's worker, without the URL.
Command = Callable[[str], list[str]]

WORKERS = Programs(Path(__file__).resolve().parent, "worker")
LANGUAGES = list(WORKERS.how)
command = WORKERS.command

if __name__ == "__main__":
    WORKERS.build()
