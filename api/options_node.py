"""Node's `ConnectOptions`, and the table that checks it."""

from __future__ import annotations

from options import GROUPS, Group, Option, at_top, in_table
from parts import Part
from words import camel, pascal, sentence, wrapped

TYPES = {"duration": "number", "integer": "number", "boolean": "boolean", "string": "string"}
READERS = {"duration": "duration", "integer": "optional(integer)", "boolean": "boolean", "string": "words"}


def name(option: Option) -> str:
    """With the unit, as everywhere in Node."""
    return camel(option.name) + ("Ms" if option.type == "duration" else "")


def default(option: Option) -> str:
    """As it is written in JavaScript."""
    if option.default is None:
        return "none"
    return str(option.default).lower() if isinstance(option.default, bool) else str(option.default)


def limits(option: Option) -> str:
    """What is allowed, if that is a range or a rule."""
    return f"{option.min} to {option.max}" if option.min is not None else option.allowed


def flat(option: Option) -> str:
    """An option of a group, under the name that it has without it."""
    also = "".join(f' | "{word}"' for word in option.also)
    return f"  /** As `{option.group}.{name(option)}`. */\n  {name(option)}?: {TYPES[option.type]}{also} | undefined;\n"


def interface(group: Group) -> str:
    """What is given for the group."""
    members = "".join(map(member, group.options))
    return f"/** {sentence(group.what)} */\nexport interface {pascal(group.name)}Defaults {{\n{members}}}\n"


def whole(group: Group) -> str:
    """The group in `ConnectOptions`."""
    return f"  /** {sentence(group.what)} */\n  {group.name}?: {pascal(group.name)}Defaults | undefined;\n"


def group_reader(group: Group) -> str:
    lines = "".join(f"  {line}" for option in group.options for line in [reader(option)])
    return f"  {group.name}: group({{\n{lines}  }}),\n"


def member(option: Option) -> str:
    also = "".join(f' | "{word}"' for word in option.also)
    values = "; ".join(text for text in (limits(option), f"{shown(option)} by default" if shown(option) else "") if text)
    text = sentence(option.sentence("node")) + (f" {values[0].upper()}{values[1:]}." if values else "")
    comment = f"  /** {text} */"
    if len(comment) > 120:
        comment = "\n".join(["  /**", *(f"   * {line}" for line in wrapped(text, 114)), "   */"])
    return f"{comment}\n  {name(option)}?: {TYPES[option.type]}{also} | undefined;\n"


def shown(option: Option) -> str:
    if option.default is None:
        return ""
    return f"`{default(option)}`" if isinstance(option.default, str) else default(option)


def reader(option: Option) -> str:
    return f"  {name(option)}: {'durationOrNone' if option.also else READERS[option.type]},\n"


def parts() -> list[Part]:
    path = "node/ts/options.ts"
    options = [option for option in in_table() if at_top(option)]
    readers = "".join([*map(reader, options), *map(group_reader, GROUPS)])
    members = [flat(option) if option.group else member(option) for option in options]
    return [
        Part(path, "\n".join(map(interface, GROUPS)), "groups"),
        Part(path, "".join([*members, *map(whole, GROUPS)]), "options"),
        Part(path, f"const CORE = {{\n{readers}}};\n", "readers"),
    ]
