"""Core and the bridge are built in layers, and nothing in either imports what lies above it (no packages needed).

Tests inside them are free: one of a lower module may use a primitive as its sample.
"""

from __future__ import annotations

import json
import re
import unittest
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from testing import main

ROOT = Path(__file__).resolve().parent.parent
#: Several locks as one are in the lock's folder.
PRIMITIVES = list(
    dict.fromkeys(
        each["module"].partition("/")[0] for each in json.loads((ROOT / "api/primitives.json").read_text())["primitives"]
    )
)


@dataclass(frozen=True)
class Crate:
    """The layers of one crate."""

    source: Path
    #: From the bottom up: a module imports only modules in front of it.
    layers: list[str]
    #: These do not import one another either.
    apart: set[str] = field(default_factory=set)
    #: The only folder that names the redis crate.
    redis: Path | None = None


CORE = Crate(
    ROOT / "core" / "src",
    [
        *("text", "error", "span", "name", "time", "event", "wait", "stats", "blocking", "task", "config", "ended"),
        *("step", "backend", "lease", "objects", "context", "contended"),
        *PRIMITIVES,
        *("survey", "client", "embed"),
    ],
    set(PRIMITIVES),
    Path("backend", "redis"),
)
BRIDGE = Crate(
    ROOT / "bridge" / "src",
    [
        *("sync", "guard", "refused", "park", "ending", "engine"),
        *("slab", "handle", "near", "client", "holder", "leased", "hold", "objects", "outcome", "port", "kinds"),
        *("state", "ends", "nearby", "thread_end", "cancel", "ports", "submit", "ops", "shutdown"),
    ],
)

NOISE = re.compile(
    r"""//[^\n]* | /\*.*?\*/ | r(\#*)".*?"\1 | "(?:\\.|[^"\\])*" | '(?:\\.[^']*|[^'\\])' """, re.VERBOSE | re.DOTALL
)
TEST_FILE = re.compile(r'#\[cfg\(test\)\]\s*(?:#\[path\s*=\s*"([^"]+)"\]\s*)?(?:pub(?:\([^)]*\))?\s+)?mod\s+(\w+)\s*;')
TEST_ITEM = re.compile(r"#\[cfg\(test\)\]\s*(?:#\[[^\]]*\]\s*)*[^;{]*")
PATH = re.compile(r"\b(crate::|(?:super::)+)(\w+|\{)")


def code(text: str) -> str:
    """The text without comments, literals and items that are compiled for tests only."""
    text = NOISE.sub(" ", text)
    while found := TEST_ITEM.search(text):
        end = text.find(";", found.start()) + 1 if text[found.end()] == ";" else closing(text, found.end())
        text = text[: found.start()] + text[end:]
    return text


def closing(text: str, brace: int) -> int:
    """Just behind the brace that closes the one at `brace`."""
    depth = 0
    for at in range(brace, len(text)):
        depth += {"{": 1, "}": -1}.get(text[at], 0)
        if depth == 0:
            return at + 1
    raise ValueError("a brace is not closed")


def firsts(text: str, brace: int) -> Iterator[str]:
    """The first word of each path in `{a, b::{c, d}}`."""
    inside = text[brace + 1 : closing(text, brace) - 1]
    while "{" in inside:
        inside = re.sub(r"\{[^{}]*\}", "", inside)
    return (found[0] for part in inside.split(",") if (found := re.search(r"\w+", part)))


def imports(text: str, depth: int) -> set[str]:
    """The top-level modules that a file names whose module lies `depth` below the crate's root."""
    text = code(text)
    names: set[str] = set()
    for found in PATH.finditer(text):
        way, name = found.groups()
        if way != "crate::" and way.count("super::") != depth:
            continue
        names.update(firsts(text, found.end() - 1) if name == "{" else [name])
    return names


def sources(crate: Crate) -> Iterator[tuple[Path, str, int]]:
    """Each file that is no test, as it stands below `src`: its text and how deep its module lies."""
    texts = {path.relative_to(crate.source): path.read_text() for path in sorted(crate.source.rglob("*.rs"))}
    tests = set()
    for path, text in texts.items():
        folder = path.parent if path.name in ("mod.rs", "lib.rs") else path.with_suffix("")
        for file, name in TEST_FILE.findall(text):
            tests.add(path.parent / file if file else folder / f"{name}.rs")
    for path, text in texts.items():
        if path not in tests and path.name != "lib.rs":
            yield path, text, len(path.parts) - (path.name == "mod.rs")


def offences(crate: Crate, path: Path, text: str, depth: int) -> list[str]:
    """What this file imports and should not."""
    own = path.parts[0].removesuffix(".rs")
    found = []
    for name in sorted(imports(text, depth) & set(crate.layers) - {own}):
        if crate.layers.index(name) > crate.layers.index(own) or {name, own} <= crate.apart:
            found.append(f"{path} imports {name}")
    if crate.redis is not None and crate.redis not in path.parents and names_redis(code(text)):
        found.append(f"{path} names the redis crate")
    return found


def names_redis(text: str) -> bool:
    """Whether `redis::` is the crate there, and not a module."""
    return "mod redis;" not in text and re.search(r"(?<!::)\bredis::", text) is not None


class Layers(unittest.TestCase):
    maxDiff = None

    def test_nothing_imports_what_lies_above_it(self) -> None:
        for crate in (CORE, BRIDGE):
            with self.subTest(crate.source):
                self.assertEqual([offence for each in sources(crate) for offence in offences(crate, *each)], [])

    def test_the_engine_of_waiting_calls_the_server_from_one_file(self) -> None:
        found = ((path, code(text)) for path, text, _ in sources(CORE) if path.parts[0] == "contended")
        self.assertEqual({path.name for path, text in found if ".backend" in text}, {"server.rs"})

    def test_every_module_has_a_layer(self) -> None:
        for crate in (CORE, BRIDGE):
            with self.subTest(crate.source):
                modules = {path.parts[0].removesuffix(".rs") for path, _, _ in sources(crate)}
                self.assertEqual(modules, set(crate.layers))


class Reading(unittest.TestCase):
    def test_an_import_upwards_is_found_however_it_is_written(self) -> None:
        for text in (
            "use crate::lock::Lock;",
            "use crate::{error::Error, lock::{self, Lock}};",
            "use super::super::lock::Lock;",
            "fn f() -> super::super::lock::Lock { todo!() }",
            "use crate::{\n    name,\n    lock,\n};",
        ):
            self.assertEqual(offences(CORE, Path("backend/hub.rs"), text, 2), ["backend/hub.rs imports lock"], text)
        self.assertEqual(offences(CORE, Path("lock/mod.rs"), "use crate::limit::Rate;", 1), ["lock/mod.rs imports limit"])
        self.assertEqual(
            offences(CORE, Path("step/wire.rs"), "use redis::Value;", 2), ["step/wire.rs names the redis crate"]
        )

    def test_what_is_no_import_upwards_is_left_alone(self) -> None:
        for text in (
            "/// See [`Lock`](crate::lock::Lock).",
            'const TEXT: &str = "crate::lock";',
            "use super::lock::Mine;",
            "use crate::error::Error;\nuse self::redis::Waiting;",
            "#[cfg(test)]\nmod tests {\n    mod deeper {\n        use crate::lock::Lock;\n    }\n}",
            "#[cfg(test)]\npub(crate) use crate::lock::Lock;",
        ):
            self.assertEqual(offences(CORE, Path("backend/hub.rs"), text, 2), [], text)


if __name__ == "__main__":
    main()
