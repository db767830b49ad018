"""The platforms that packages are built for, in Node's package and on their page."""

from __future__ import annotations

from typing import Any

import facts
from parts import Part

PLATFORMS: list[dict[str, Any]] = facts.read("platforms")["platforms"]

GENERATED = "// Written by `python3 api/write.py` from api/platforms.json.\n"


def for_node() -> str:
    """The names, the likelier one first where two could load."""
    names = "".join(f'  "{each["name"]}",\n' for each in PLATFORMS)
    return (
        f"{GENERATED}\n/** What a native library is built for: each has a package of its own, `libdlock-` and this. */\n"
        f"export const PLATFORMS: readonly string[] = [\n{names}];\n"
    )


def for_the_command() -> str:
    """A line of `case` for each system and processor."""
    packages: dict[str, list[str]] = {}
    for each in PLATFORMS:
        packages.setdefault(each["uname"], []).append(f"libdlock-{each['name']}")
    return "".join(f'"{uname}") packages="{" ".join(names)}" ;;\n' for uname, names in packages.items())


def table() -> str:
    """For docs/platforms.md."""
    rows = "".join(f"| {each['what']} | `{each['name']}` | `{each['wheel']}` | {each['tested']} |\n" for each in PLATFORMS)
    return f"\n| platform | npm, archive | wheel | tested by |\n|---|---|---|---|\n{rows}\n"


def parts() -> list[Part]:
    return [
        Part("node/ts/platforms.ts", for_node()),
        Part("node/bin/dlock", for_the_command(), "platforms"),
        Part("docs/platforms.md", table(), "platforms"),
    ]
