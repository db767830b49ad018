"""tests/vectors as C headers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def quoted(data: bytes) -> str:
    """A C string literal. Octal escapes: unlike hexadecimal ones they end by themselves."""
    return '"' + "".join(f"\\{byte:03o}" for byte in data) + '"'


def header(folder: Path) -> str:
    """The rows of errors, names and options that C checks."""

    def rows(name: str) -> list[dict[str, object]]:
        table: dict[str, list[dict[str, object]]] = json.loads((folder / f"{name}.json").read_text())
        return table[name]

    macros: list[str] = []
    lines = ["#include <stdbool.h>", "#include <stddef.h>"]
    lines.append("static const struct { const char *name; int code; } vector_errors[] = {")
    lines += [f'    {{"{row["name"]}", {row["code"]}}},' for row in rows("errors")]
    lines += ["};", "static const struct { const char *bytes; size_t length; bool ok; const char *why; } vector_names[] = {"]
    for row in rows("names"):
        data = bytes.fromhex(str(row["hex"]))
        lines.append(f"    {{{quoted(data)}, {len(data)}, {str(row['ok']).lower()}, {json.dumps(row['why'])}}},")
    lines += ["};", "static const struct { const char *name; const char *value; } vector_options[] = {"]
    lines += [f'    {{"{row["name"]}", {value(row)}}},' for row in rows("options")]
    stats = json.loads((folder / "stats.json").read_text())
    for table in ("counters", "histograms", "histogram"):
        each = " ".join(f"X({name})" for name in stats[table])
        macros.append(f"#define VECTOR_{table.upper()}(X) {each}")
    return "\n".join([*lines, "};", *macros, f"#define VECTOR_BUCKETS {stats['buckets']}", ""])


def limits_header(folder: Path) -> str:
    """The rows of gcra.json; -1 stands for never and for no burst."""
    table = json.loads((folder / "gcra.json").read_text())

    def number(given: int | None) -> str:
        return f"INT64_C({-1 if given is None else given})"

    def rate(row: dict[str, Any]) -> str:
        burst = row["burst"]
        has_burst = str(burst is not None).lower()
        return f"{json.dumps(row['why'])}, {number(row['tokens'])}, {number(row['per_ms'])}, {has_burst}, {number(burst)}"

    fields = "const char *why; int64_t tokens, per_ms; bool has_burst; int64_t burst"
    answer = ("cost", "granted", "remaining", "retry_after_ms", "reset_after_ms")
    lines = ["#include <stdbool.h>", "#include <stddef.h>", "#include <stdint.h>"]
    lines.append(f"static const struct {{ {fields}, limit; size_t first_call, calls; }} vector_limiters[] = {{")
    calls: list[dict[str, Any]] = []
    for row in table["limiters"]:
        lines.append(f"    {{{rate(row)}, {number(row['limit'])}, {len(calls)}, {len(row['calls'])}}},")
        calls += row["calls"]
    lines += ["};", f"static const struct {{ bool allowed; int64_t {', '.join(answer)}; }} vector_calls[] = {{"]
    for call in calls:
        lines.append(f"    {{{str(call['allowed']).lower()}, {', '.join(number(call[name]) for name in answer)}}},")
    lines += ["};", f"static const struct {{ {fields}; }} vector_invalid_rates[] = {{"]
    lines += [f"    {{{rate(row)}}}," for row in table["invalid_rates"]]
    lines += ["};", f"static const struct {{ {fields}, cost; }} vector_invalid_costs[] = {{"]
    lines += [f"    {{{rate(row)}, {number(row['cost'])}}}," for row in table["invalid_costs"]]
    return "\n".join([*lines, "};", ""])


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
