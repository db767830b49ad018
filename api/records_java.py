"""The records of Java."""

from __future__ import annotations

from parts import Part
from records import BLOCKS, METRICS, RECORDS, Field, in_lists
from words import camel, java_code, sentence, wrapped

HEAD = "// Written by `python3 api/write.py` from api/records.json.\npackage org.libdlock;\n\n"
TYPES = {
    "flag": "boolean",
    "count": "long",
    "integer": "long",
    "counts": "List<Long>",
    "duration": "Duration",
    "histogram": "Histogram",
    "text?": "@Nullable String",
    "count?": "OptionalLong",
    "duration?": "@Nullable Duration",
    "time?": "OptionalLong",
}


def name(field: Field) -> str:
    return camel(field.name) + ("Us" if field.type == "time?" else "")


#: What a record is beside a record.
IMPLEMENTS = {"Decision": "Answer"}


def header(of: str) -> str:
    """The comment and the components, laid out as the formatter does."""
    record = RECORDS[of]
    ends = f")\n        implements {IMPLEMENTS[of]} {{" if of in IMPLEMENTS else ") {"
    lines = ["/**", *(f" * {line}" for line in wrapped(java_code(sentence(record.what)), 116)), " *"]
    for each in record.fields:
        first, *rest = wrapped(java_code(f"@param {name(each)} {each.phrase('java')}"), 116)
        lines += [f" * {first}", *(f" *     {line}" for line in rest)]
    lines.append(" */")
    components = [f"{each.type if each.is_block else TYPES[each.type]} {name(each)}" for each in record.fields]
    begin = f"public record {of}("
    if len(begin) + len(", ".join(components)) + 3 <= 120:
        return "\n".join([*lines, f"{begin}{', '.join(components)}) {{", ""])
    # With what may follow the brace on its line.
    if len(", ".join(components)) + 12 <= 119:
        return "\n".join([*lines, begin, f"        {', '.join(components)}) {{", ""])
    return "\n".join([*lines, begin, ",\n".join(f"        {each}" for each in components) + ends, ""])


def arguments(counts: range, times: range) -> list[str]:
    return [*(f"numbers[{at}]" for at in counts), *(f"times[{at}]" for at in times)]


def counters() -> str:
    """From the numbers: all counters, then all histograms."""
    lists = in_lists()
    lines = [f"    private static final int COUNTERS = {sum(len(counts) for counts, _ in lists.values())};"]
    lines += [f"    private static final int HISTOGRAMS = {sum(len(times) for _, times in lists.values())};", ""]
    lines += ["    private static Stats of(long[] numbers, Histogram[] times) {", "        return new Stats("]
    own = [f"                {each}" for each in arguments(*lists[""])]
    for block in BLOCKS:
        given = arguments(*lists[block])
        begin, indent = f"                new {BLOCKS[block].name}(", " " * 24
        one_line, below = f"{begin}{', '.join(given)})", f"{indent}{', '.join(given)})"
        inside = ",\n".join(f"{indent}{each}" for each in given)
        # With what ends the call.
        fits = f"{begin}\n{below}" if len(below) <= 118 else f"{begin}\n{inside})"
        own.append(one_line if len(one_line) <= 118 else fits)
    return "\n".join([*lines, ",\n".join(own) + ");", "    }", ""])


def descriptions() -> str:
    """What the metrics of libdlock-spring-boot-starter say, by the names of components."""
    entries = []
    for of, what in METRICS.items():
        entry = f'            Map.entry("{camel(of)}", "{what}")'
        # As the formatter breaks a line.
        if len(entry) > 119:
            entry = f'            Map.entry(\n                    "{camel(of)}",\n                    "{what}")'
        entries.append(entry)
    return "    static final Map<String, String> OF = Map.ofEntries(\n" + ",\n".join(entries) + ");\n"


def parts() -> list[Part]:
    starter = "java/spring-boot-starter/src/main/java/org/libdlock/spring/metrics"
    folder = "java/src/main/java/org/libdlock"
    return [
        *(Part(f"{folder}/{of}.java", header(of), "record") for of in RECORDS if RECORDS[of] not in BLOCKS.values()),
        *(Part(f"{folder}/{block.name}.java", f"{HEAD}{header(block.name).rstrip()}}}\n") for block in BLOCKS.values()),
        Part(f"{folder}/Stats.java", counters(), "counters"),
        Part(f"{starter}/Descriptions.java", descriptions(), "metrics"),
    ]
