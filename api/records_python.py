"""The dataclasses of Python."""

from __future__ import annotations

import re

from parts import Part
from records import BLOCKS, GAUGES, KINDS, METRICS, RECORDS, Field, in_lists
from words import docstring, sentence

TYPES = {
    "flag": "bool",
    "count": "int",
    "integer": "int",
    "counts": "tuple[int, ...]",
    "duration": "float",
    "histogram": "Histogram",
    "text?": "str | None",
    "count?": "int | None",
    "duration?": "float | None",
    "time?": "int | None",
}
FILES = {
    **{record.name: "_stats" for record in BLOCKS.values()},
    "Stats": "_stats",
    "Histogram": "_stats",
    "Decision": "_decision",
    "Inspection": "_hold",
    "SemaphoreInspection": "_permits",
    "RwLockInspection": "_sides",
    "CountingSemaphoreInspection": "_counting",
}


def hint(field: Field) -> str:
    return field.type if field.is_block else TYPES[field.type]


def fields(name: str) -> str:
    return "".join(
        f"    {each.name}: {hint(each)}\n{docstring(sentence(each.phrase('python')))}" for each in RECORDS[name].fields
    )


def aliases() -> str:
    """What the native module returns for them; the statistics are lists of numbers."""
    rows = {"_Times": RECORDS["Histogram"].fields}
    rows |= {"_Decided": RECORDS["Decision"].fields, "_Inspected": RECORDS["Inspection"].fields}
    rows |= {"_SeenPermits": RECORDS["SemaphoreInspection"].fields, "_SeenSides": RECORDS["RwLockInspection"].fields}
    rows["_SeenCounting"] = RECORDS["CountingSemaphoreInspection"].fields
    lines = []
    for alias, of in rows.items():
        types = ["list[int]" if each.type == "counts" else TYPES[each.type] for each in of]
        lines.append(f"{alias}: TypeAlias = tuple[{', '.join(types)}]\n")
    return "".join(lines)


def part(name: str) -> str:
    """`lock-stats` of `LockStats`."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "-", name).lower()


def arguments(counts: range, times: range) -> str:
    parts = [f"*counts[{counts.start}:{counts.stop}]"] if counts else []
    parts += [f"*times[{times.start}:{times.stop}]"] if times else []
    return ", ".join(parts)


def stats_of() -> str:
    """A client's statistics out of two lists."""
    lists = in_lists()
    own, own_times = lists[""]
    lines = [*(f"counts[{at}]" for at in own), *(f"times[{at}]" for at in own_times)]
    lines += [f"{record.name}({arguments(*lists[block])})" for block, record in BLOCKS.items()]
    return "        return cls(\n" + "".join(f"            {line},\n" for line in lines) + "        )\n"


def metrics() -> str:
    """What each statistic is, and the word for each kind of object, in monitoring."""
    what = "".join(f'    "{name}": "{text}",\n' for name, text in METRICS.items())
    kinds = "".join(f'    "{block}": "{KINDS.get(block, block)}",\n' for block in BLOCKS)
    return f"WHAT = {{\n{what}}}\nKINDS = {{\n{kinds}}}\nGAUGES = {GAUGES!r}\n".replace("'", '"')


def parts() -> list[Part]:
    return [
        *(Part(f"py/python/libdlock/{file}.py", fields(name), part(name)) for name, file in FILES.items()),
        Part("py/python/libdlock/_stats.py", stats_of(), "stats-of"),
        Part("py/python/libdlock/_native.pyi", aliases(), "records"),
        Part("py/python/libdlock/integrations/_metrics.py", metrics(), "metrics"),
    ]
