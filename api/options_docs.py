"""The table of options on each language's page."""

from __future__ import annotations

import options_node
from options import Option, in_table
from parts import Part
from words import camel, duration, table


def name(option: Option, language: str) -> str:
    group = f"{option.group}." if option.group else ""
    if language == "node":
        return f"`{group}{options_node.name(option)}`"
    if language == "java":
        also = "".join(f", `{group}{camel(f'{option.name}_{word}')}()`" for word in option.also)
        return f"`{group}{camel(option.name)}`{also}"
    return f"`{option.full}`"


def default(option: Option, language: str) -> str:
    if option.default is None:
        return "none"
    if option.type == "duration" and language != "node":
        return duration(int(option.default))
    if option.type == "boolean":
        return f"`{option.default if language == 'python' else options_node.default(option)}`"
    return f"`{option.default}`" if option.type == "string" else str(option.default)


def limits(option: Option, language: str) -> str:
    if option.type == "duration" and language != "node":
        return f"{duration(option.min or 0)} to {duration(option.max or 0)}"
    return options_node.limits(option)


def parts() -> list[Part]:
    heads = ["option", "default", "range", ""]
    return [
        Part(
            f"docs/{language}/README.md",
            table(
                heads,
                [
                    [name(option, language), default(option, language), limits(option, language), option.sentence(language)]
                    for option in in_table()
                ],
            ),
            "options",
        )
        for language in ("c", "python", "node", "java")
    ]
