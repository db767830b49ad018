"""The tables of errors, of what they carry and of their families on each language's page."""

from __future__ import annotations

from errors import FACTS, FAMILIES, RAISED, STATUSES, Fact, Family, Kind
from parts import Part
from words import camel, table


def c(kind: Kind) -> list[str]:
    thrown = kind.cpp_page or (f"`{kind.cpp}`" if kind.cpp else "")
    return [f"`DLOCK_{kind.name}` {kind.code}", kind.phrase("c"), thrown]


def python(kind: Kind) -> list[str]:
    return [f"`{kind.python}`", f"`{kind.python_also}`" if kind.python_also else "", kind.phrase("python")]


def node(kind: Kind) -> list[str]:
    return [f"`{kind.node}`", kind.phrase("node")]


def java(kind: Kind) -> list[str]:
    return [f"`{kind.java}`", f"`{kind.java_is.rpartition('.')[2]}`", kind.phrase("java")]


def fact(fact: Fact, language: str) -> str:
    """What it is called there."""
    timed = "seconds" in fact.type
    if language == "c":
        unit = "" if not timed else "_ms" if fact.type.startswith("milli") else "_us"
        return f"`{fact.name}{unit}`"
    if language == "node":
        return f"`{camel(fact.name)}{'Ms' if timed else ''}`"
    return f"`{camel(fact.name)}()`" if language == "java" else f"`{fact.name}`"


def family(family: Family, language: str) -> list[str]:
    """How it is caught, its kinds as that language names them, and what it stands for."""
    name = {
        "c": f"`{family.cpp}`",
        "python": f"`{family.python}`",
        "node": f'`"{family.name}"`',
        "java": f"`{family.java}`" if family.java else f'none; `family()` is `"{family.name}"`',
    }[language]
    kinds = [f"`{getattr(kind, 'cpp' if language == 'c' else language)}`" for kind in family.kinds]
    return [name, ", ".join(kinds), family.meaning]


def parts() -> list[Part]:
    pages = {
        "c": table(["status", "", "C++ exception"], [c(kind) for kind in STATUSES]),
        "python": table(["exception", "also", "when"], [python(kind) for kind in RAISED]),
        "node": table(["`code`", "when"], [node(kind) for kind in RAISED]),
        "java": table(["exception", "is a", "when"], [java(kind) for kind in RAISED]),
    }
    written = [Part(f"docs/{language}/README.md", text, "errors") for language, text in pages.items()]
    heads = {"c": "C++ class", "python": "class", "node": "`family`", "java": "class"}
    for language, head in heads.items():
        carried = table(["fact", ""], [[fact(each, language), each.phrase(language)] for each in FACTS])
        alike = table([head, "above", "when"], [family(each, language) for each in FAMILIES])
        page = f"docs/{language}/README.md"
        written += [Part(page, carried, "error-facts"), Part(page, alike, "families")]
    return written
