"""The platforms that packages are built for, for scripts/dist, Node's package and their page."""

from __future__ import annotations

from dataclasses import dataclass

import facts
from parts import Part


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


PLATFORMS = [Platform(**row) for row in facts.read("platforms")["platforms"]]


def platform(name: str) -> Platform:
    """The one of this name."""
    for each in PLATFORMS:
        if each.name == name:
            return each
    raise SystemExit(f"no platform is called {name}; there are {', '.join(each.name for each in PLATFORMS)}")


GENERATED = "// Written by `python3 api/write.py` from api/platforms.json.\n"


def for_node() -> str:
    """The names, the likelier one first where two could load, and what loads the package of one."""
    names = "".join(f'  "{each.name}",\n' for each in PLATFORMS)
    cases = "".join(f'    case "{each.name}":\n      return find("libdlock-{each.name}");\n' for each in PLATFORMS)
    return f"""{GENERATED}
import {{ createRequire }} from "node:module";

/** The platforms with a native library: the package of each is `libdlock-` and this. */
export const PLATFORMS: readonly string[] = [
{names}];

/**
 * Loads the package for `target` as the file `from` would; undefined for what there is none for. Each name stands in a separate
 * call of what `module.createRequire` has made: so tools that trace files find the packages, and bundlers do not look into them.
 */
export function requireNative(from: string, target: string): unknown {{
  const module = {{ createRequire }};
  const find = module.createRequire(from);
  switch (target) {{
{cases}    default:
      return undefined;
  }}
}}
"""


def for_the_command() -> str:
    """A line of `case` for each system and processor."""
    packages: dict[str, list[str]] = {}
    for each in PLATFORMS:
        packages.setdefault(each.uname, []).append(f"libdlock-{each.name}")
    return "".join(f'"{uname}") packages="{" ".join(names)}" ;;\n' for uname, names in packages.items())


def table() -> str:
    """For docs/platforms.md."""
    rows = "".join(f"| {each.what} | `{each.name}` | `{each.wheel}` | {each.tested} |\n" for each in PLATFORMS)
    return f"\n| platform | npm, archive | wheel | tested by |\n|---|---|---|---|\n{rows}\n"


def parts() -> list[Part]:
    return [
        Part("node/ts/platforms.ts", for_node()),
        Part("node/bin/dlock", for_the_command(), "platforms"),
        Part("docs/platforms.md", table(), "platforms"),
    ]
