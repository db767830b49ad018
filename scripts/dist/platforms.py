"""The platforms that packages are built for, as api/platforms.json has them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Platform:
    """One of them."""

    #: As npm's packages are called.
    name: str
    #: As Rust calls it.
    triple: str
    libc: str | None
    #: As Node calls them.
    os: str
    cpu: str
    #: What `uname -sm` prints there.
    uname: str
    #: The tag of a wheel.
    wheel: str
    #: The folder in the jar.
    java: str
    #: In words.
    what: str
    #: How far it is tested.
    tested: str

    @property
    def zig(self) -> str:
        """As cargo-zigbuild calls it: with the oldest glibc that is served."""
        return f"{self.triple}.2.17" if self.libc == "glibc" else self.triple

    @property
    def is_apple(self) -> bool:
        """Whether its libraries are of another form."""
        return self.os == "darwin"

    @property
    def suffix(self) -> str:
        """What a shared library's name ends with."""
        return "dylib" if self.is_apple else "so"


PLATFORMS = [Platform(**row) for row in json.loads((ROOT / "api/platforms.json").read_text())["platforms"]]


def platform(name: str) -> Platform:
    """The one of this name."""
    for each in PLATFORMS:
        if each.name == name:
            return each
    raise SystemExit(f"no platform is called {name}; there are {', '.join(each.name for each in PLATFORMS)}")
