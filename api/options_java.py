"""The setters of Java's `Options`."""

from __future__ import annotations

import json
import re

from options import GROUPS, Group, Option, at_top, in_table
from parts import Part
from words import camel, duration, javadoc, pascal, sentence

TYPES = {"duration": "Duration", "integer": "int", "boolean": "boolean", "string": "String"}
FOLDER = "java/src/main/java/org/libdlock"
STARTER = "java/spring-boot-starter/src/main"
RETURN = "@return a copy with it"


def allowed(option: Option) -> str:
    """The range and the default."""
    if option.type == "duration":
        return f"{duration(option.min or 0)} to {duration(option.max or 0)}; {duration(int(option.default or 0))} by default"
    if option.type == "integer":
        return f"{option.min} to {option.max}; {option.default} by default"
    default = "none" if option.default is None else str(option.default).lower()
    if isinstance(option.default, str):
        default = "{@code " + option.default + "}"
    return (f"{option.allowed}; " if option.allowed else "") + f"{default} by default"


def setter(option: Option, of: str, group: str = "") -> list[str]:
    """The setter of class `of`; `group` is before the option's name where the class is that of the group."""
    kind, parameter = TYPES[option.type], option.own("java", "parameter") or option.name.split("_")[-1]
    text = " ".join(filter(None, (sentence(option.sentence("java")), option.own("java", "more"))))
    if option.group and not group:
        text = f"As {{@link {pascal(option.group)}Defaults#{camel(option.name)}}}."
    name = f"{group}{option.name}"
    boxed = {"int": "Integer.toString({})", "boolean": "Boolean.toString({})"}.get(kind, "{}").format(parameter)
    lines = ["", *javadoc(text, "    ", f"@param {parameter} {allowed(option)}", RETURN)]
    lines.append(f"    public {of} {camel(option.name)}({kind} {parameter}) {{")
    if kind in ("Duration", "String"):
        lines.append(f'        Arguments.notNull({parameter}, "{parameter}");')
    lines += [f'        return set("{name}", {boxed});', "    }"]
    for word in option.also:
        lines += ["", *javadoc(f"Sets {option.name} to {word}: see {{@link #{camel(option.name)}}}.", "    ", RETURN)]
        lines.append(f"    public {of} {camel(f'{option.name}_{word}')}() {{")
        lines += [f'        return set("{name}", "{word}");', "    }"]
    return lines


def grouped(group: Group) -> list[str]:
    """The method of `Options` that takes a group."""
    of = f"{pascal(group.name)}Defaults"
    text = (
        f"{sentence(group.what)} Its options are accepted without it too, as methods here; one option is given in one way."
    )
    how = f"@param {group.name} such as {{@code {group.name} -> {group.name}.{camel(group.options[0].name)}(...)}}"
    return [
        "",
        *javadoc(text, "    ", how, RETURN),
        f"    public Options {group.name}(UnaryOperator<{of}> {group.name}) {{",
        f'        Arguments.notNull({group.name}, "{group.name}");',
        f"        return {group.name}.apply(new {of}(this)).options;",
        "    }",
    ]


def defaults(group: Group) -> Part:
    """The class of a group."""
    of = f"{pascal(group.name)}Defaults"
    lines = [
        "// Written by `python3 api/write.py` from api/options.json.",
        "package org.libdlock;",
        "",
        "import java.time.Duration;",
        "",
    ]
    text = f"{sentence(group.what)[:-1]}; see {{@link Options#{group.name}}}. Immutable: each method returns a changed copy."
    lines += javadoc(text, "")
    lines += [f"public final class {of} {{", "    /** Those that it is part of. */", "    final Options options;", ""]
    lines += [f"    {of}(Options options) {{", "        this.options = options;", "    }", ""]
    for kind in ("String", "Duration"):
        lines += [
            f"    private {of} set(String name, {kind} value) {{",
            f"        return new {of}(options.set(name, value));",
            "    }",
            "",
        ]
    body = [line for option in group.options for line in setter(option, of, f"{group.name}.")][1:]
    return Part(f"{FOLDER}/{of}.java", "\n".join([*lines, *body, "}", ""]))


def groups() -> str:
    """The words before a dot in names of options."""
    names = ", ".join(f'"{group.name}"' for group in GROUPS)
    return f"    private static final Set<String> GROUPS = Set.of({names});\n"


def metadata() -> str:
    """What editors offer for the properties `libdlock.options.*` of libdlock-spring-boot-starter."""
    values = [
        {"value": option.full.replace("_", "-"), "description": f"{sentence(option.sentence('java'))} {plain(option)}"}
        for option in in_table()
    ]
    hint = {"name": "libdlock.options.keys", "values": values, "providers": [{"name": "any"}]}
    return json.dumps({"hints": [hint]}, indent=2, ensure_ascii=False) + "\n"


def plain(option: Option) -> str:
    """The range and the default, without markup."""
    text = re.sub(r"{@code ([^}]*)}", r"\1", allowed(option))
    return f"{text[0].upper()}{text[1:]}."


def parts() -> list[Part]:
    lines = [line for option in in_table() if at_top(option) for line in setter(option, "Options")]
    lines += [line for group in GROUPS for line in grouped(group)]
    starter = [
        Part(f"{STARTER}/java/org/libdlock/spring/boot/Clients.java", groups(), "groups"),
        Part(f"{STARTER}/resources/META-INF/additional-spring-configuration-metadata.json", metadata()),
    ]
    return [Part(f"{FOLDER}/Options.java", "\n".join([*lines, "", ""])[1:], "options"), *map(defaults, GROUPS), *starter]
