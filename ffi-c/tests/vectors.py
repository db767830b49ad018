"""api/ and tests/vectors as C headers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def tables(folder: Path, name: str) -> dict[str, Any]:
    """The file of that name in api/, or in the folder of vectors."""
    fact = folder.parent.parent / "api" / f"{name}.json"
    read: dict[str, Any] = json.loads((fact if fact.exists() else folder / f"{name}.json").read_text())
    return read


def quoted(data: bytes) -> str:
    """A C string literal. Octal escapes: unlike hexadecimal ones they end by themselves."""
    return '"' + "".join(f"\\{byte:03o}" for byte in data) + '"'


def names_of(option: dict[str, object]) -> list[str]:
    """As a table of options may call it: with its group, and if it is older than that without."""
    name, group = str(option["name"]), option.get("group")
    return [*([f"{group}.{name}"] if group else [name]), *([name] if option.get("flat") else [])]


def header(folder: Path) -> str:
    """The rows of errors, names, options and bad URLs that C checks."""

    def rows(name: str, part: str | None = None) -> list[dict[str, object]]:
        table: list[dict[str, object]] = tables(folder, name)[part or name]
        return table

    macros: list[str] = []
    lines = ["#include <stdbool.h>", "#include <stddef.h>", "#include <stdint.h>"]
    lines.append("static const struct { const char *name; int code; } vector_errors[] = {")
    lines += [f'    {{"{row["name"]}", {row["code"]}}},' for row in rows("errors")]
    lines += ["};", "static const struct { const char *bytes; size_t length; bool ok; const char *why; } vector_names[] = {"]
    for row in rows("names"):
        data = bytes.fromhex(str(row["hex"]))
        lines.append(f"    {{{quoted(data)}, {len(data)}, {str(row['ok']).lower()}, {json.dumps(row['why'])}}},")
    lines += ["};", "static const struct { const char *name; const char *value; } vector_options[] = {"]
    for row in rows("options"):
        lines += [f'    {{"{name}", {value(row)}}},' for name in names_of(row)]
    lines += ["};", "static const struct { const char *name; int64_t min, max; } vector_lock_options[] = {"]
    durations = [row for row in rows("options", "lock") if row["type"] == "duration"]
    lines += [f'    {{"{row["name"]}", {row["min"]}, {row["max"]}}},' for row in durations]
    lines += ["};", "static const struct { const char *url; const char *says; const char *kind; } vector_bad_urls[] = {"]
    urls = json.loads((folder / "urls.json").read_text())
    for row in urls["bad"]:
        url, says, kind = row["url"], row["says"], row.get("kind", "INVALID_ARGUMENT")
        lines.append(f'    {{{quoted(url.encode())}, {quoted(says.encode())}, "{kind}"}},')
    stats = tables(folder, "stats")
    lists = {"counters": stats["counters"], "histogram": stats["histogram"]}
    for block, of in stats["blocks"].items():
        lists |= {f"{block}_{table}": of[table] for table in ("counters", "histograms")}
    for table, names in lists.items():
        each = " ".join(f"X({name})" for name in names)
        macros.append(f"#define VECTOR_{table.upper()}(X) {each}")
    return "\n".join([*lines, "};", *macros, f"#define VECTOR_BUCKETS {stats['buckets']}", ""])


def ids_header(folder: Path) -> str:
    """The rows of snowflake.json; a layout without a name has NULL for one."""
    table = json.loads((folder / "snowflake.json").read_text())
    bits = ("epoch_ms", "time_bits", "datacenter_bits", "worker_bits", "sequence_bits")

    def number(text: str) -> str:
        return "INT64_MIN" if text == str(-(2**63)) else f"INT64_C({text})"

    def layout(given: str | dict[str, Any]) -> str:
        if isinstance(given, str):
            return f'{{"{given}", DLOCK_LAYOUT_INIT}}'
        return f"{{NULL, {{sizeof(dlock_layout_t), {', '.join(str(given[name]) for name in bits)}}}}}"

    def text(row: dict[str, Any]) -> str:
        data = row["text"].encode()
        return f"{quoted(data)}, {len(data)}, {row['base']}"

    lines = ["#include <dlock.h>", "typedef struct { const char *name; dlock_layout_t custom; } vector_layout_t;"]
    lines.append("static const struct { const char *name; dlock_layout_t layout; } vector_layouts[] = {")
    for row in table["layouts"]:
        lines.append(f'    {{"{row["name"]}", {{sizeof(dlock_layout_t), {", ".join(str(row[name]) for name in bits)}}}}},')
    lines += ["};", "static const struct {"]
    lines += ["    vector_layout_t layout; int64_t id, time_ms; uint32_t datacenter, worker, sequence; const char *why;"]
    lines += ["} vector_decode[] = {"]
    for row in table["decode"]:
        parts = ", ".join(str(row[name]) for name in ("time_ms", "datacenter", "worker", "sequence"))
        lines.append(f"    {{{layout(row['layout'])}, {number(row['id'])}, {parts}, {json.dumps(row['why'])}}},")
    lines += [
        "};",
        "static const struct { vector_layout_t layout; int64_t id; const char *why; } vector_decode_refused[] = {",
    ]
    lines += [
        f"    {{{layout(row['layout'])}, {number(row['id'])}, {json.dumps(row['why'])}}}," for row in table["decode_refused"]
    ]
    lines += ["};", "static const struct { vector_layout_t layout; const char *why; } vector_layouts_refused[] = {"]
    lines += [f"    {{{layout(row['layout'])}, {json.dumps(row['why'])}}}," for row in table["layouts_refused"]]
    lines += ["};", "static const struct { int64_t id; int32_t base; const char *text; } vector_texts[] = {"]
    for row in table["text"]:
        lines += [f'    {{{number(row["id"])}, {base}, "{row[f"base{base}"]}"}},' for base in (10, 32, 36, 58, 62)]
    lines += ["};", "static const struct { const char *text; size_t length; int32_t base; int64_t id; } vector_parse[] = {"]
    lines += [f"    {{{text(row)}, {number(row['id'])}}}," for row in table["parse"]]
    lines += ["};", "static const struct {", "    const char *text; size_t length; int32_t base; const char *why;"]
    lines += ["} vector_parse_refused[] = {"]
    lines += [f"    {{{text(row)}, {json.dumps(row['why'])}}}," for row in table["parse_refused"]]
    return "\n".join([*lines, "};", ""])


def value(row: dict[str, object]) -> str:
    """The option's default as a text to give, NULL where the default is to give none."""
    default = row["default"]
    if default is None:
        return "NULL"
    if row["type"] == "duration":
        return f'"{default}ms"'
    return json.dumps(json.dumps(default) if not isinstance(default, str) else "c-tests")
