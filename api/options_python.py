"""The fields of Python's `Options`."""

from __future__ import annotations

from options import GROUPS, OPTIONS, PASSWORD_SOURCES, Group, Option, at_top
from parts import Part
from words import pascal, sentence

TYPES = {"duration": "Seconds", "integer": "int", "boolean": "bool", "string": "str"}


def hint(option: Option) -> str:
    """The option's type."""
    also = "".join(f', "{word}"' for word in option.also)
    return TYPES[option.type] + (f" | Literal[{also[2:]}]" if also else "")


def name(group: Group) -> str:
    """The class of the group."""
    return f"{pascal(group.name)}Defaults"


def defaults(group: Group) -> str:
    lines = "".join(f"    {option.name}: {hint(option)}\n" for option in group.options)
    text = f"{sentence(group.what)[:-1]}: `connect(url, {group.name}={{...}})`."
    return f'class {name(group)}(TypedDict, total=False):\n    """{text}"""\n\n{lines}'


def parts() -> list[Part]:
    path = "py/python/libdlock/_options.py"
    lines = [f"    {option.name}: {hint(option)}\n" for option in [*OPTIONS, *PASSWORD_SOURCES] if at_top(option)]
    lines += [f"    {group.name}: {name(group)}\n" for group in GROUPS]
    grouped = ", ".join(f'"{group.name}": {name(group)}' for group in GROUPS)
    return [
        Part(path, "\n\n".join(map(defaults, GROUPS)) + "\n\n", "groups"),
        Part(path, "".join(lines), "options"),
        Part(path, f"GROUPS: dict[str, type] = {{{grouped}}}\n", "group-names"),
    ]
