"""The tags that say what a completion brings, to C, and on both sides of Node's and Java's native modules."""

from __future__ import annotations

from typing import Any

import facts
from parts import Part
from words import item, pascal, sentence

_JSON: dict[str, list[dict[str, Any]]] = facts.read("wire")


def c() -> str:
    begin = "pub const DLOCK_COMPLETION"
    return "".join(
        item(row["what"], f"{begin}_{row['name'].upper()}: dlock_completion_kind_t = {row['tag']};") for row in _JSON["c"]
    )


def node_rust() -> str:
    return "".join(item(row["what"], f"{pascal(row['name'])} = {row['tag']},", "    ") for row in _JSON["node"])


def node_script() -> str:
    tags = ", ".join(f"{pascal(row['name'])}: {row['tag']}" for row in _JSON["node"])
    return f"export const Tag = {{ {tags} }} as const;\n"


def java_rust() -> str:
    return "".join(item(row["what"], f"const {row['name'].upper()}: u8 = {row['tag']};") for row in _JSON["java"])


def java() -> str:
    return "".join(
        f"    /** {sentence(row['what'])} */\n    private static final byte {row['name'].upper()} = {row['tag']};\n\n"
        for row in _JSON["java"]
    )


def parts() -> list[Part]:
    for language in ("c", "node", "java"):
        rows = _JSON[language]
        assert len({row["tag"] for row in rows}) == len(rows), "a tag stands for two things"
    return [
        Part("ffi-c/src/completion.rs", c(), "completions"),
        Part("node/src/completion.rs", node_rust(), "tags"),
        Part("node/ts/native.ts", node_script(), "tags"),
        Part("java/native/src/wire.rs", java_rust(), "tags"),
        Part("java/src/main/java/org/libdlock/internal/Wire.java", java(), "tags"),
    ]
