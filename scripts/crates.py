"""Programs and libraries of the workspace's crates, as `scripts/build.sh` builds them."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def build_command(*packages: str) -> list[str]:
    """Builds these packages."""
    return [str(ROOT / "scripts/build.sh"), *packages]


def folder() -> Path:
    """Has what was built."""
    profile = os.environ.get("DLOCK_PROFILE", "release")
    return Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / {"dev": "debug"}.get(profile, profile)


def built(*packages: str, fault_injection: bool = False) -> Path:
    """Builds them; the folder that has the results."""
    environment = {**os.environ, "DLOCK_FAULT_INJECTION": "1" if fault_injection else ""}
    done = subprocess.run(build_command(*packages), env=environment, stdout=subprocess.PIPE, text=True, check=True)
    return Path(done.stdout.strip())
