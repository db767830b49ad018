"""tests/vectors as a C header."""

from __future__ import annotations

import json
from pathlib import Path


def quoted(data: bytes) -> str:
    """A C string literal. Octal escapes: unlike hexadecimal ones they end by themselves."""
    return '"' + "".join(f"\\{byte:03o}" for byte in data) + '"'


def header(folder: Path) -> str:
    """The rows of errors, names and options that C checks."""

    def rows(name: str) -> list[dict[str, object]]:
        table: dict[str, list[dict[str, object]]] = json.loads((folder / f"{name}.json").read_text())
        return table[name]

    lines = ["#include <stdbool.h>", "#include <stddef.h>"]
    lines.append("static const struct { const char *name; int code; } vector_errors[] = {")
    lines += [f'    {{"{row["name"]}", {row["code"]}}},' for row in rows("errors")]
    lines += ["};", "static const struct { const char *bytes; size_t length; bool ok; const char *why; } vector_names[] = {"]
    for row in rows("names"):
        data = bytes.fromhex(str(row["hex"]))
        lines.append(f"    {{{quoted(data)}, {len(data)}, {str(row['ok']).lower()}, {json.dumps(row['why'])}}},")
    lines += ["};", "static const struct { const char *name; const char *value; } vector_options[] = {"]
    lines += [f'    {{"{row["name"]}", {value(row)}}},' for row in rows("options")]
    return "\n".join([*lines, "};", ""])


def value(row: dict[str, object]) -> str:
    """The option's default as a text to give, NULL where the default is to give none."""
    default = row["default"]
    if default is None:
        return "NULL"
    if row["type"] == "duration":
        return f'"{default}ms"'
    return json.dumps(json.dumps(default) if not isinstance(default, str) else "c-tests")
