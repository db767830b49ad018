"""Node's kinds of error, their numbers, families and facts."""

from __future__ import annotations

from errors import FACTS, FAMILIES, RAISED, Fact
from parts import Part
from words import camel, sentence, wrapped

#: The unit in the field's name, and its type.
TYPES = {
    "text?": ("", "string"),
    "milliseconds?": ("Ms", "number"),
    "microseconds?": ("Ms", "number"),
    "flag": ("", "boolean"),
}


def named(fact: Fact) -> tuple[str, str]:
    """The field and its type."""
    unit, type = TYPES[fact.type]
    return camel(fact.name) + unit, type


def own(fact: Fact) -> str:
    """What may be missing is no property of an error without it."""
    name, type = named(fact)
    field = f"declare readonly {name}?: {type};" if fact.type.endswith("?") else f"readonly {name}: {type};"
    text = sentence(fact.phrase("node"))
    comment = f"  /** {text} */\n"
    if len(comment) > 120:
        comment = "  /**\n" + "".join(f"   * {line}\n" for line in wrapped(text, 112)) + "   */\n"
    return f"{comment}  {field}\n"


def crossing(fact: Fact) -> str:
    """The field of what the native module gives."""
    name, type = named(fact)
    return f"  readonly {name}?: {type} | null;\n" if fact.type.endswith("?") else f"  readonly {name}: {type};\n"


def parts() -> list[Part]:
    union = "\n".join(f'  | "{kind.name}"' for kind in RAISED)
    numbers = "".join(f"  {kind.name}: {kind.code},\n" for kind in RAISED)
    families = " | ".join(f'"{family.name}"' for family in FAMILIES)
    above = "".join(f'  {kind.name}: "{kind.family}",\n' for kind in RAISED if kind.family)
    path = "node/ts/error.ts"
    return [
        Part(path, f"export type ErrorKind =\n{union};\n", "kinds"),
        Part(path, f"export type ErrorFamily = {families};\n", "families"),
        Part(path, f"const ERRNO = {{\n{numbers}}} satisfies Record<ErrorKind, number>;\n", "numbers"),
        Part(path, f"const FAMILY: Partial<Record<ErrorKind, ErrorFamily>> = {{\n{above}}};\n", "above"),
        Part(path, "".join(map(own, FACTS)), "facts"),
        Part("node/ts/native.ts", "".join(map(crossing, FACTS)), "facts"),
    ]
