"""Python's exceptions, and what they carry."""

from __future__ import annotations

from errors import FACTS, FAMILIES, RAISED, Fact, Family, Kind
from parts import Part
from words import docstring, sentence

ABOVE = {family.name: family.python for family in FAMILIES}
TYPES = {
    "text?": "str | None",
    "milliseconds?": "float | None",
    "microseconds?": "float | None",
    "flag": "bool",
}


def attribute(fact: Fact) -> str:
    unit = "; in seconds" if "seconds" in fact.type else ""
    text = docstring(sentence(fact.phrase("python") + unit))
    return f"    {fact.name}: {TYPES[fact.type]}\n{text}"


def family(family: Family) -> str:
    return f"class {family.python}(DlockError):\n{docstring(sentence(family.meaning))}\n\n"


def exception(kind: Kind) -> str:
    bases = ", ".join(filter(None, (ABOVE.get(kind.family, "DlockError"), kind.python_also)))
    text = docstring(sentence(kind.phrase("python")))
    return f'class {kind.python}({bases}):\n{text}\n    code = {kind.code}\n    kind = "{kind.name}"\n\n\n'


def parts() -> list[Part]:
    classes = "".join(f"        {kind.python},\n" for kind in RAISED)
    by_code = f"_BY_CODE: dict[int, type[DlockError]] = {{\n    cls.code: cls\n    for cls in (\n{classes}    )\n}}\n"
    text = "\n\n" + "".join(map(family, FAMILIES)) + "".join(map(exception, RAISED)) + by_code
    path = "py/python/libdlock/_errors.py"
    return [Part(path, "".join(map(attribute, FACTS)), "facts"), Part(path, text, "errors")]
