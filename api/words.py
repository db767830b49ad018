"""How names, numbers and sentences are written."""

from __future__ import annotations

import re
import textwrap


def camel(name: str) -> str:
    """`keyPrefix` of `key_prefix`."""
    first, *rest = name.lower().split("_")
    return first + "".join(word.capitalize() for word in rest)


def pascal(name: str) -> str:
    """`NotHeld` of `NOT_HELD`."""
    return "".join(word.capitalize() for word in name.split("_"))


def duration(millis: int) -> str:
    """`366 days`, `24 h`, `5 s`, `100 ms`, `0`: in the largest unit that is exact, days only beyond one."""
    for unit, size in (("days", 86_400_000), ("h", 3_600_000), ("s", 1_000), ("ms", 1)):
        if millis % size == 0 and millis >= (2 * size if unit == "days" else size):
            return f"{millis // size} {unit}"
    return "0"


def sentence(phrase: str) -> str:
    """The phrase with a capital and a full stop."""
    return f"{phrase[0].upper()}{phrase[1:]}" + ("" if phrase.endswith(".") else ".")


def wrapped(text: str, width: int) -> list[str]:
    """The text in lines of at most `width` columns, broken at spaces alone."""
    return textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False)


def rustdoc(phrase: str, indent: str = "") -> str:
    """The comment above an item, for cbindgen and C++ too."""
    return "".join(f"{indent}/// {line}\n" for line in wrapped(sentence(phrase), 110))


def item(phrase: str, code: str, indent: str = "") -> str:
    """A line of Rust, C or C++ below its comment."""
    return f"{rustdoc(phrase, indent)}{indent}{code}\n"


def docstring(text: str) -> str:
    """Below a class or a field of a dataclass."""
    if len(text) <= 112:
        return f'    """{text}"""\n'
    return "\n    ".join([*wrapped(f'    """{text}', 116), '"""']) + "\n"


def java_code(text: str) -> str:
    """What is in backquotes as Javadoc's code."""
    return re.sub(r"`([^`]*)`", lambda found: "{@code " + found[1] + "}", text)


def javadoc(text: str, indent: str, *tags: str) -> list[str]:
    """The comment above a class or method."""
    code = java_code(text)
    if not tags and len(indent) + len(code) <= 110:
        return [f"{indent}/** {code} */"]
    lines = wrapped(code, 116 - len(indent))
    lines += ["", *tags] if tags else []
    return [f"{indent}/**", *(f"{indent} * {line}".rstrip() for line in lines), f"{indent} */"]


def table(heads: list[str], rows: list[list[str]]) -> str:
    """A Markdown table, with blank lines around it."""
    lines = [heads, ["---"] * len(heads), *rows]
    body = ["|" + "|".join(line) + "|" if line[0] == "---" else joined(line) for line in lines]
    return "\n".join(["", *body, "", ""])


def joined(cells: list[str]) -> str:
    """One row; an empty cell is one space wide."""
    return "|" + "|".join(f" {cell} " if cell else " " for cell in cells) + "|"
