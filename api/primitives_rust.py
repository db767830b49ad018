"""The kinds of object whose rights core's test compares, and the programs of examples/ that cargo builds."""

from __future__ import annotations

from parts import Part
from primitives import PRIMITIVES, Primitive, State


def kind(module: str, of: State) -> str:
    """Laid out as rustfmt does."""
    scripts = ", ".join(f'"{path}"' for path in of.scripts)
    path = module.replace("/", "::")
    begin, rights, listed = f"kind::<crate::{path}::{of.state}>(", f'"{of.rights}"', f"&[{scripts}]"
    line = f"        {begin}{rights}, {listed}),\n"
    if len(line) <= 121:
        return line
    listed = f"            {listed},\n"
    if len(listed) > 121:
        paths = "".join(f'                "{path}",\n' for path in of.scripts)
        listed = f"            &[\n{paths}            ],\n"
    return f"        {begin}\n            {rights},\n{listed}        ),\n"


def program(of: Primitive) -> str:
    """Cargo finds no programs in such folders by itself."""
    return f'[[bin]]\nname = "{of.name}"\npath = "{of.name}/{of.underscored}.rs"\n'


def parts() -> list[Part]:
    return [
        Part(
            "core/src/access_test.rs",
            "".join(kind(each.module, state) for each in PRIMITIVES for state in each.states),
            "kinds",
        ),
        Part("examples/Cargo.toml", "\n".join(map(program, PRIMITIVES)), "programs"),
    ]
