"""A runner in every language."""

from __future__ import annotations

import os
from pathlib import Path

from programs import ROOT, Programs, run

RUNNERS = Programs(Path(__file__).resolve().parent, "runner")
LANGUAGES = ["Rust", *RUNNERS.how]


def rust() -> list[str]:
    run("cargo", "build", "--quiet", "-p", "libdlock-scenarios")
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    return [str(target / "debug/scenario-runner")]


def command(language: str) -> list[str]:
    """Builds a language's runner; how it is started."""
    return rust() if language == "Rust" else RUNNERS.command(language)
