"""The statistics of the C library and of its header for C++."""

from __future__ import annotations

import re
import textwrap

from parts import Part
from records import ALL_STATS, BLOCKS, BUCKETS, HISTOGRAM, Field, Record
from words import item

C = {"count": "u64", "duration": "u64", "counts": "[u64; DLOCK_HISTOGRAM_BUCKETS]", "histogram": "dlock_histogram_t"}
CPP = {
    "count": "std::uint64_t {} = 0;",
    "duration": "std::chrono::microseconds {}{{}};",
    "counts": "std::array<std::uint64_t, DLOCK_HISTOGRAM_BUCKETS> {}{{}};",
    "histogram": "histogram {};",
}
INDENT = "    "
GLUE = "\u00a0"


def name(field: Field) -> str:
    """Durations are whole microseconds, and say so."""
    return field.name + ("_us" if field.type == "duration" else "")


def fields(record: Record) -> str:
    """Without the blocks, which have structs of their own: each of them can grow at its end."""
    plain = [each for each in record.fields if not each.is_block]
    return "".join(item(each.phrase("c"), f"pub {name(each)}: {C[each.type]},", INDENT) for each in plain)


def conversion(record: Record, source: str) -> str:
    """The fields of the struct out of core's or the bridge's."""
    lines = []
    for each in record.fields:
        if each.is_block:
            continue
        value = f"{source}.{name(each)}"
        value = f"dlock_histogram_t::of({value}.into())" if each.type == "histogram" else value
        lines.append(f"            {name(each)}: {value},\n")
    return "".join(lines)


def cpp_name(record: Record) -> str:
    """`lock_stats` of `LockStats`."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", record.name).lower()


def member(field: Field) -> str:
    if field.is_block:
        return f"{cpp_name(BLOCKS[field.name])} {field.name};"
    return CPP[field.type].format(field.name)


def members(record: Record) -> str:
    return "".join(item(each.phrase("c"), member(each), INDENT) for each in record.fields)


def filled(text: str, indent: int, further: int) -> str:
    """The text in lines of the width that clang-format fills them to, broken at spaces that are no `GLUE`."""
    begin, next = " " * indent, " " * further
    return textwrap.fill(text, 120, initial_indent=begin, subsequent_indent=next, break_on_hyphens=False).replace(GLUE, " ")


def constructor(record: Record, kind: str, source: str, body: str) -> str:
    """From the C struct, filled as clang-format fills it. Without what the body of a histogram's sets."""
    plain = [each for each in record.fields if each.type != "counts" and each.name != "max"]
    made = ", ".join(f"{each.name}({f'of_{each.name}' if each.is_block else f'{source}.{name(each)}'})" for each in plain)
    parameters = [f"const {kind}& {source}"]
    parameters += [f"const {cpp_name(BLOCKS[each.name])}& of_{each.name}" for each in plain if each.is_block]
    begin = "explicit " if len(parameters) == 1 else ""
    begin += f"{cpp_name(record)}("
    head = begin.replace(" ", GLUE) + ", ".join(each.replace(" ", GLUE) for each in parameters) + ")"
    return f"{filled(head, 4, 4 + len(begin))}\n{filled(f': {made}{GLUE}{body}', 8, 10)}\n"


def part(block: str) -> str:
    """The name of the part for a client's own statistics, or for those of a kind."""
    return f"{block}-stats" if block else "stats"


def parts() -> list[Part]:
    rust, cpp = "ffi-c/src/stats.rs", "include/dlock/stats.hpp"
    return [
        Part(rust, f"pub const DLOCK_HISTOGRAM_BUCKETS: usize = {BUCKETS};\n", "buckets"),
        Part(rust, fields(HISTOGRAM), "histogram"),
        *(Part(rust, fields(record), part(block)) for block, record in ALL_STATS.items()),
        Part(rust, conversion(HISTOGRAM, "times"), "histogram-of"),
        *(Part(rust, conversion(record, "stats"), f"{part(block)}-of") for block, record in ALL_STATS.items()),
        Part(cpp, members(HISTOGRAM), "histogram"),
        Part(cpp, constructor(HISTOGRAM, "dlock_histogram_t", "times", "{"), "histogram-of"),
        *(Part(cpp, members(record), part(block)) for block, record in ALL_STATS.items()),
        *(
            Part(cpp, constructor(record, f"dlock_{cpp_name(record)}_t", "seen", "{}"), f"{part(block)}-of")
            for block, record in ALL_STATS.items()
        ),
    ]
